//===- DeviceBucketsTest.cpp - buckets.cuh of runtime/kernels -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps compiled for the host, where threads take turns. A GPU runs them in any order: here items and buckets are
// visited in random orders.
//
//===----------------------------------------------------------------------===//

#include "cuda_on_host.h"

#include "buckets.cuh"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <numeric>
#include <random>
#include <vector>

namespace {

/// More items than the bitmap of a block has bits.
constexpr unsigned kBuckets = 101, kItems = 70001, kBlocks = 3, kWarps = 256 / 32;
using TestedBuckets = Buckets<kBuckets, kItems>;

/// `order` has the item or the bucket of each thread.
void clear(unsigned char *workspace, const unsigned *order) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i < kBuckets)
    TestedBuckets(workspace).clear(order[i]);
}
void count(unsigned char *workspace, const unsigned *order, const unsigned *buckets) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i < kItems)
    TestedBuckets(workspace).count(order[i], buckets[order[i]]);
}
void reserve(unsigned char *workspace, const unsigned *order) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  TestedBuckets(workspace).reserve(i < kBuckets ? order[i] : kBuckets);
}
void place(unsigned char *workspace, const unsigned *order, const unsigned *buckets) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i < kItems)
    TestedBuckets(workspace).place(order[i], buckets[order[i]]);
}
void sortLong(unsigned char *workspace) { TestedBuckets(workspace).sortLong(kBlocks); }
/// A warp per bucket writes its items.
void getSorted(unsigned char *workspace, unsigned *items) {
  const unsigned bucket = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  const TestedBuckets buckets(workspace);
  if (bucket >= kBuckets || buckets.counts[bucket] > buckets.shortSize)
    return;
  const unsigned item = buckets.getSorted(bucket);
  if (lane < buckets.counts[bucket])
    items[bucket * 32 + lane] = item;
}

template <typename... Parameters>
void launch(void (*kernel)(Parameters...), unsigned threads, std::type_identity_t<Parameters>... buffers) {
  const std::array<void *, sizeof...(buffers)> pointers = {const_cast<void *>(static_cast<const void *>(buffers))...};
  runOnHost(kernel, pointers.data(), (threads + 255) / 256, 256);
}

std::vector<unsigned> randomOrder(unsigned count, std::mt19937 &random) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// Runs all steps, and returns the items of each bucket as readers get them.
std::vector<std::vector<unsigned>> collect(const std::vector<unsigned> &buckets, std::mt19937 &random) {
  // Values that are read before they are written show.
  std::vector<unsigned> workspace(TestedBuckets::bytes / 4, 0xffffffffu), shortItems(kBuckets * 32);
  auto *bytes = reinterpret_cast<unsigned char *>(workspace.data());
  launch(clear, kBuckets, bytes, randomOrder(kBuckets, random).data());
  launch(count, kItems, bytes, randomOrder(kItems, random).data(), buckets.data());
  launch(reserve, kBuckets, bytes, randomOrder(kBuckets, random).data());
  launch(place, kItems, bytes, randomOrder(kItems, random).data(), buckets.data());
  launch(sortLong, kBlocks * 256, bytes);
  launch(getSorted, kBuckets * 32, bytes, shortItems.data());

  const TestedBuckets found(bytes);
  std::vector<std::vector<unsigned>> items(kBuckets);
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    const unsigned size = found.counts[bucket];
    const unsigned *from = size > found.shortSize ? found.sorted + found.begins[bucket] : &shortItems[bucket * 32];
    items[bucket].assign(from, from + size);
  }
  EXPECT_EQ(*found.numPlaced, kItems);
  return items;
}

/// Compares with the items of each bucket in increasing order, in two runs.
void expectSorted(const std::vector<unsigned> &buckets) {
  std::vector<std::vector<unsigned>> expected(kBuckets);
  for (unsigned item = 0; item < kItems; ++item)
    expected[buckets[item]].push_back(item);
  std::mt19937 random(7);
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(collect(buckets, random), expected);
}

TEST(BucketsTest, SortsItemsOfRandomBuckets) {
  std::mt19937 random(1);
  std::vector<unsigned> buckets(kItems);
  // The square of a uniform number: buckets of very different sizes.
  std::uniform_real_distribution<double> uniform;
  for (unsigned &bucket : buckets) {
    const double number = uniform(random);
    bucket = static_cast<unsigned>(number * number * kBuckets);
  }
  expectSorted(buckets);
}

TEST(BucketsTest, SortsSizesAroundTheLimit) {
  // 0, 1, 31, 32, 33 and 64 items. The last bucket has all others.
  std::vector<unsigned> buckets(kItems, kBuckets - 1);
  unsigned item = 0, bucket = 0;
  for (unsigned size : {0, 1, 31, 32, 33, 64}) {
    std::fill_n(buckets.begin() + item, size, bucket++);
    item += size;
  }
  std::shuffle(buckets.begin(), buckets.end(), std::mt19937(2));
  expectSorted(buckets);
}

TEST(BucketsTest, SortsOneBucket) { expectSorted(std::vector<unsigned>(kItems, 0)); }

} // namespace
