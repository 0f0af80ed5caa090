//===- buckets.cuh - Items in the order of their buckets --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Returns the sum of the values of the warp's lower lanes. All lanes call it.
__device__ inline unsigned sumLowerLanes(unsigned value) {
  const unsigned lane = threadIdx.x % 32;
  unsigned sum = value;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned lower = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance)
      sum += lower;
  }
  return sum - value;
}

/// Items with numbers from 0 to `numItems` - 1, each in one of `numBuckets` buckets. The steps below run one after the
/// other, each in a kernel of its own. They collect the items of every bucket. Atomic additions place the items, so the
/// order of buckets in memory, and of items in a bucket, differs between runs. It does not show, because readers get
/// the items of each bucket in increasing order: `sortLong` sorts long buckets, and `getSorted` the others.
template <unsigned numBuckets, unsigned numItems>
struct Buckets {
  /// The largest number of items of a bucket that one warp sorts.
  static constexpr unsigned shortSize = 32;
  static constexpr unsigned maxLong = numItems / (shortSize + 1);
  static constexpr unsigned threadsPerBlock = 256;
  static constexpr long long bytes = 4ll * (2 + 2ll * numBuckets + 3ll * numItems + maxLong);

  /// The number of items that have a place.
  unsigned *numPlaced;
  /// The number of long buckets.
  unsigned *numLong;
  /// The number of items of each bucket.
  unsigned *counts;
  /// Where the items of each bucket begin in `placed` and `sorted`.
  unsigned *begins;
  /// The number of items in the bucket of each item that were counted before it.
  unsigned *ranks;
  /// The items of each bucket, in any order.
  unsigned *placed;
  /// The items of each long bucket, in increasing order.
  unsigned *sorted;
  unsigned *longBuckets;

  /// `workspace` has `bytes` bytes.
  __device__ explicit Buckets(unsigned char *workspace) {
    numPlaced = reinterpret_cast<unsigned *>(workspace);
    numLong = numPlaced + 1;
    counts = numLong + 1;
    begins = counts + numBuckets;
    ranks = begins + numBuckets;
    placed = ranks + numItems;
    sorted = placed + numItems;
    longBuckets = sorted + numItems;
  }

  /// Step 1, for each bucket: empties it.
  __device__ void clear(unsigned bucket) const {
    if (bucket < numBuckets)
      counts[bucket] = 0;
    if (bucket == 0)
      *numPlaced = *numLong = 0;
  }

  /// Step 2, for each item.
  __device__ void count(unsigned item, unsigned bucket) const { ranks[item] = atomicAdd(counts + bucket, 1u); }

  /// Step 3, for each bucket: determines where its items begin. All threads of a warp call it, those beyond the last
  /// bucket too.
  __device__ void reserve(unsigned bucket) const {
    const unsigned size = bucket < numBuckets ? counts[bucket] : 0;
    const unsigned before = sumLowerLanes(size);
    unsigned begin = 0;
    if (threadIdx.x % 32 == 31)
      begin = atomicAdd(numPlaced, before + size);
    begin = __shfl_sync(0xffffffffu, begin, 31);
    if (bucket >= numBuckets)
      return;
    begins[bucket] = begin + before;
    if (size > shortSize)
      longBuckets[atomicAdd(numLong, 1u)] = bucket;
  }

  /// Step 4, for each item.
  __device__ void place(unsigned item, unsigned bucket) const { placed[begins[bucket] + ranks[item]] = item; }

  /// Step 5: block b of `blocks` sorts long buckets b, b + `blocks`, …. It marks the items of a bucket in a bitmap, and
  /// reads the marks in order. If there are more items than bits, it does so for one range of items after the other.
  __device__ void sortLong(unsigned blocks) const {
    constexpr unsigned wordsPerThread = 4, words = threadsPerBlock * wordsPerThread, range = 32 * words;
    __shared__ unsigned marks[words];
    __shared__ unsigned warpTotals[threadsPerBlock / 32];
    const unsigned firstWord = threadIdx.x * wordsPerThread;
    for (unsigned number = blockIdx.x; number < *numLong; number += blocks) {
      const unsigned bucket = longBuckets[number], size = counts[bucket];
      const unsigned *const from = placed + begins[bucket];
      unsigned *to = sorted + begins[bucket];
      for (unsigned first = 0; first < numItems; first += range) {
        for (unsigned word = 0; word < wordsPerThread; ++word)
          marks[firstWord + word] = 0;
        __syncthreads();
        for (unsigned i = threadIdx.x; i < size; i += threadsPerBlock) {
          // Items of earlier ranges wrap around to large numbers.
          const unsigned bit = from[i] - first;
          if (bit < range)
            atomicOr(marks + bit / 32, 1u << bit % 32);
        }
        __syncthreads();
        unsigned own = 0;
        for (unsigned word = 0; word < wordsPerThread; ++word)
          own += __popc(marks[firstWord + word]);
        unsigned before = sumLowerLanes(own), total = 0;
        if (threadIdx.x % 32 == 31)
          warpTotals[threadIdx.x / 32] = before + own;
        __syncthreads();
        for (unsigned warp = 0; warp < threadsPerBlock / 32; ++warp) {
          before += warp < threadIdx.x / 32 ? warpTotals[warp] : 0;
          total += warpTotals[warp];
        }
        for (unsigned word = 0; word < wordsPerThread; ++word)
          for (unsigned bits = marks[firstWord + word]; bits != 0; bits &= bits - 1)
            to[before++] = first + (firstWord + word) * 32 + __ffs(bits) - 1;
        to += total;
        __syncthreads();
      }
    }
  }

  /// After step 5: returns the item of the short bucket `bucket` that has `lane` lower ones in it. Lanes from the
  /// bucket's size on get any number. All lanes of a warp call it.
  __device__ unsigned getSorted(unsigned bucket) const {
    const unsigned lane = threadIdx.x % 32, size = counts[bucket];
    const unsigned item = lane < size ? placed[begins[bucket] + lane] : 0;
    unsigned rank = 0;
    for (unsigned other = 0; other < size; ++other)
      rank += __shfl_sync(0xffffffffu, item, other) < item;
    unsigned found = 0;
    for (unsigned other = 0; other < size; ++other) {
      const unsigned otherItem = __shfl_sync(0xffffffffu, item, other);
      if (__shfl_sync(0xffffffffu, rank, other) == lane)
        found = otherItem;
    }
    return found;
  }
};
