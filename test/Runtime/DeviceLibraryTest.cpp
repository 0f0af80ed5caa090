//===- DeviceLibraryTest.cpp - The functions of runtime/kernels -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device library compiled for the host: the threads of a block are fibers that
// take turns.
//
//===----------------------------------------------------------------------===//

#include "cuda_on_host.h"

// In the order of a kernel's text.
#include "bf16.cuh"
#include "f16.cuh"
#include "scalar.cuh"
#include "vector.cuh"

#include "reduce.cuh"

#include "batch.cuh"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <gmock/gmock.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace {

using testing::Each;
using testing::ElementsAreArray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <typename... Parameters>
void launch(void (*kernel)(Parameters...), int threads, std::type_identity_t<Parameters>... buffers) {
  const std::array<void *, sizeof...(buffers)> pointers = {const_cast<void *>(static_cast<const void *>(buffers))...};
  runOnHost(kernel, pointers.data(), 1, threads);
}

std::vector<float> normalNumbers(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return normal(random); });
  return numbers;
}

//===----------------------------------------------------------------------===//
// bf16.cuh and f16.cuh
//===----------------------------------------------------------------------===//

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

/// Returns the nearer one of the two neighbours of `x` in a narrow type, or the even one if x is a tie.
float nearer(double x, float below, float above, bool belowIsEven) {
  const double down = x - below, up = above - x;
  return down < up || (down == up && belowIsEven) ? below : above;
}

TEST(BF16Test, KeepsWhatItRepresents) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float x = fromBits(bits << 16);
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(roundToBF16(x)) && std::isnan(roundToBF16(double(x))));
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(roundToBF16(x)), bits << 16);
  }
}

TEST(BF16Test, RoundsToNearestAndTiesToEven) {
  std::mt19937 random(2);
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float below = fromBits(bits << 16), above = fromBits((bits + 1) << 16);
    const uint32_t low = random() % 0xffff + 1;
    for (uint32_t between : {uint32_t(0x8000), uint32_t(0x7fff), uint32_t(0x8001), low}) {
      const float x = fromBits(bits << 16 | between);
      EXPECT_EQ(roundToBF16(x), nearer(x, below, above, bits % 2 == 0));
      EXPECT_EQ(roundToBF16(-x), -roundToBF16(x));
    }
    // Closer to a tie than a float can represent: a double must not be rounded
    // twice.
    const double tie = fromBits(bits << 16 | 0x8000);
    EXPECT_EQ(roundToBF16(std::nextafter(tie, 0.0)), below);
    EXPECT_EQ(roundToBF16(std::nextafter(tie, 1e300)), above);
  }
}

TEST(BF16Test, OverflowsToInfinity) {
  const float largest = fromBits(0x7f7f0000);
  EXPECT_EQ(roundToBF16(fromBits(0x7f7f7fff)), largest);
  EXPECT_EQ(roundToBF16(fromBits(0x7f7f8000)), kInfinity);
  EXPECT_EQ(roundToBF16(-std::numeric_limits<float>::max()), -kInfinity);
  EXPECT_EQ(roundToBF16(1e300), kInfinity);
}

TEST(F16Test, KeepsWhatItRepresents) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float x = std::bit_cast<__half>(static_cast<uint16_t>(bits));
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(roundToF16(x)) && std::isnan(roundToF16(double(x))));
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(roundToF16(x)), std::bit_cast<uint32_t>(x));
  }
}

TEST(F16Test, RoundsToNearestAndTiesToEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float below = std::bit_cast<__half>(bits), above = std::bit_cast<__half>(uint16_t(bits + 1));
    const float tie = below + (above - below) / 2;
    EXPECT_EQ(roundToF16(tie), bits % 2 == 0 ? below : above) << bits;
    EXPECT_EQ(roundToF16(std::nextafter(tie, 0.0f)), below);
    EXPECT_EQ(roundToF16(std::nextafter(tie, kInfinity)), above);
    EXPECT_EQ(roundToF16(std::nextafter(double(tie), 0.0)), below);
    EXPECT_EQ(roundToF16(std::nextafter(double(tie), 1e300)), above);
    EXPECT_EQ(roundToF16(-tie), -roundToF16(tie));
  }
}

TEST(F16Test, HasSubnormalsAndOverflowsToInfinity) {
  EXPECT_EQ(roundToF16(0x1p-24f), 0x1p-24f);
  EXPECT_EQ(roundToF16(0x1p-25f), 0.0f);
  EXPECT_EQ(roundToF16(0x1.8p-24f), 0x1p-23f);
  EXPECT_EQ(roundToF16(65519.0f), 65504.0f);
  EXPECT_EQ(roundToF16(65520.0f), kInfinity);
  EXPECT_EQ(roundToF16(-1e10), -kInfinity);
}

//===----------------------------------------------------------------------===//
// scalar.cuh
//===----------------------------------------------------------------------===//

TEST(ScalarTest, SpecialNumbers) {
  EXPECT_EQ(infinity(), kInfinity);
  EXPECT_TRUE(std::isnan(notANumber()));
}

template <typename Float>
void expectExtremesLikeMLIR() {
  const Float zero = 0, nan = std::numeric_limits<Float>::quiet_NaN(), inf = std::numeric_limits<Float>::infinity();
  EXPECT_EQ(maximum(Float(1), Float(-2)), 1);
  EXPECT_EQ(minimum(Float(1), Float(-2)), -2);
  EXPECT_EQ(maximum(-inf, Float(3)), 3);
  EXPECT_EQ(minimum(inf, Float(3)), 3);
  for (Float x : {zero, inf, -inf, nan}) {
    EXPECT_TRUE(std::isnan(maximum(x, nan)) && std::isnan(maximum(nan, x)));
    EXPECT_TRUE(std::isnan(minimum(x, nan)) && std::isnan(minimum(nan, x)));
  }
}

TEST(ScalarTest, ExtremesOfFloats) {
  expectExtremesLikeMLIR<float>();
  expectExtremesLikeMLIR<double>();
}

TEST(ScalarTest, ExtremesOfIntegers) {
  EXPECT_EQ(maximum(-3, 2), 2);
  EXPECT_EQ(minimum(-3, 2), -3);
  EXPECT_EQ(maximum(0x80000000u, 1u), 0x80000000u);
  EXPECT_EQ(minimum(-5000000000LL, 1LL), -5000000000LL);
}

TEST(ScalarTest, NumbersThatAreNoIndicesEqualNone) {
  EXPECT_EQ(asIndex(0), 0u);
  EXPECT_EQ(asIndex(0xfffffffeLL), 0xfffffffeu);
  for (long long number : {-1LL, -100LL, 0xffffffffLL, 0x100000000LL, 0x100000005LL, (-1LL << 62) * 2, (1LL << 62)})
    EXPECT_EQ(asIndex(number), 0xffffffffu);
}

//===----------------------------------------------------------------------===//
// vector.cuh
//===----------------------------------------------------------------------===//

static_assert(sizeof(Vector<float, 8>) == 32 && alignof(Vector<float, 8>) == 16);
static_assert(sizeof(Vector<__nv_bfloat16, 8>) == 16 && alignof(Vector<__nv_bfloat16, 8>) == 16);
static_assert(sizeof(Vector<__half, 2>) == 4 && alignof(Vector<__half, 2>) == 4);
static_assert(sizeof(Vector<double, 4>) == 32 && alignof(Vector<double, 4>) == 16);
static_assert(sizeof(Vector<bool, 8>) == 8 && alignof(Vector<bool, 8>) == 8);

template <typename Element, int size>
void expectVectorsMove() {
  constexpr int count = 64, first = 16;
  alignas(16) Element from[count], to[count];
  for (int i = 0; i < count; ++i) {
    from[i] = static_cast<Element>(i);
    to[i] = static_cast<Element>(100 + i);
  }
  Vector<Element, size> vector = loadVector<size>(from + first);
  for (int lane = 0; lane < size; ++lane)
    EXPECT_EQ(vector[lane], static_cast<Element>(first + lane));
  vector[size - 1] = static_cast<Element>(7);
  storeVector(to + first, vector);
  for (int i = 0; i < count; ++i) {
    const bool isWritten = i >= first && i < first + size;
    EXPECT_EQ(to[i], static_cast<Element>(i == first + size - 1 ? 7 : isWritten ? i : 100 + i));
  }
}

TEST(VectorTest, MovesItsElementsAndNoOthers) {
  expectVectorsMove<float, 1>();
  expectVectorsMove<float, 4>();
  expectVectorsMove<float, 8>();
  expectVectorsMove<double, 2>();
  expectVectorsMove<double, 8>();
  expectVectorsMove<__half, 2>();
  expectVectorsMove<__half, 8>();
  expectVectorsMove<long long, 2>();
  expectVectorsMove<int, 4>();
}

//===----------------------------------------------------------------------===//
// reduce.cuh
//===----------------------------------------------------------------------===//

constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto larger = [](auto a, auto b) { return maximum(a, b); };

TEST(ReduceTest, LanesInOrder) {
  const Vector<float, 4> values = {1e8f, 1.0f, -1e8f, 1.0f};
  EXPECT_EQ(reduceLanes(values, add), ((1e8f + 1.0f) + -1e8f) + 1.0f);
  EXPECT_EQ((reduceLanes(Vector<int, 1>{5}, add)), 5);
}

/// Returns the result of a butterfly reduction over `threads` values, in its
/// order.
template <typename T, typename Combine>
std::vector<T> butterfly(std::vector<T> values, unsigned threads, Combine combine) {
  for (unsigned distance = threads / 2; distance > 0; distance /= 2) {
    std::vector<T> before = values;
    for (unsigned i = 0; i < values.size(); ++i)
      values[i] = combine(before[i], before[i ^ distance]);
  }
  return values;
}

template <int threads>
void sumWithinWarps(const float *in, float *out) {
  out[threadIdx.x] = reduceWarp<threads>(in[threadIdx.x], add);
}

template <int threads>
void expectSumsWithinWarps() {
  const std::vector<float> in = normalNumbers(64);
  std::vector<float> out(64, kNaN);
  launch(sumWithinWarps<threads>, 64, in.data(), out.data());
  EXPECT_THAT(out, ElementsAreArray(butterfly(in, threads, add)));
  // All threads of a group have the same bits.
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], out[i / threads * threads]);
}

TEST(ReduceTest, NeighboursWithinAWarp) {
  expectSumsWithinWarps<1>();
  expectSumsWithinWarps<2>();
  expectSumsWithinWarps<4>();
  expectSumsWithinWarps<8>();
  expectSumsWithinWarps<16>();
  expectSumsWithinWarps<32>();
}

void largestOfPartOfAWarp(const float *in, float *out) {
  // Groups without a row return.
  if (threadIdx.x >= 24)
    return;
  out[threadIdx.x] = reduceWarp<8>(in[threadIdx.x], larger);
}

TEST(ReduceTest, GroupsOfAWarpThatOthersHaveLeft) {
  std::vector<float> in = normalNumbers(32), out(32, -7.0f);
  in[9] = kNaN;
  launch(largestOfPartOfAWarp, 32, in.data(), out.data());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(out[i], *std::max_element(in.begin(), in.begin() + 8));
    EXPECT_TRUE(std::isnan(out[8 + i]));
    EXPECT_EQ(out[16 + i], *std::max_element(in.begin() + 16, in.begin() + 24));
    EXPECT_EQ(out[24 + i], -7.0f);
  }
}

template <int threads>
void meanAndVariance(const double *in, double *sums, double *squares) {
  const double mean = reduceBlock<threads>(in[threadIdx.x], [](double a, double b) { return a + b; }) / threads;
  const double difference = in[threadIdx.x] - mean;
  sums[threadIdx.x] = mean;
  squares[threadIdx.x] = reduceBlock<threads>(difference * difference, [](double a, double b) { return a + b; });
}

template <int threads>
void expectMeanAndVariance() {
  std::vector<double> in(threads), means(threads), squares(threads);
  for (int i = 0; i < threads; ++i)
    in[i] = i * i % 97;
  const double mean = std::accumulate(in.begin(), in.end(), 0.0) / threads;
  double square = 0;
  for (double x : in)
    square += (x - mean) * (x - mean);
  launch(meanAndVariance<threads>, threads, in.data(), means.data(), squares.data());
  EXPECT_NEAR(means.front(), mean, 1e-12 * mean);
  EXPECT_NEAR(squares.front(), square, 1e-12 * square);
  EXPECT_THAT(means, Each(means.front()));
  EXPECT_THAT(squares, Each(squares.front()));
}

TEST(ReduceTest, BlocksOneReductionAfterAnother) {
  expectMeanAndVariance<32>();
  expectMeanAndVariance<96>();
  expectMeanAndVariance<256>();
  expectMeanAndVariance<1024>();
}

template <int columns, int rows>
void sumColumns(const long long *in, long long *out) {
  const long long sum = reduceColumns<columns, rows>(in[threadIdx.x], add);
  if (threadIdx.x < columns)
    out[threadIdx.x] = sum;
}

template <int columns, int rows>
void expectSumsOfColumns() {
  std::vector<long long> in(columns * rows), out(columns), expected(columns);
  for (int i = 0; i < columns * rows; ++i) {
    in[i] = (1LL << (i / columns)) + i % columns * 1000000000000;
    expected[i % columns] += in[i];
  }
  launch(sumColumns<columns, rows>, columns * rows, in.data(), out.data());
  EXPECT_THAT(out, ElementsAreArray(expected));
}

TEST(ReduceTest, Columns) {
  expectSumsOfColumns<32, 8>();
  expectSumsOfColumns<8, 32>();
  expectSumsOfColumns<1, 32>();
}

void sumColumnsOfVectors(const float *in, float *out) {
  const Vector<float, 4> sums = reduceColumns<16, 4>(loadVector<4>(in + threadIdx.x * 4), add);
  if (threadIdx.x < 16)
    storeVector(out + threadIdx.x * 4, sums);
}

TEST(ReduceTest, ColumnsOfVectors) {
  alignas(16) float in[256], out[64];
  std::iota(in, in + 256, 0.0f);
  launch(sumColumnsOfVectors, 64, in, out);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], in[i] + in[64 + i] + in[128 + i] + in[192 + i]);
}

//===----------------------------------------------------------------------===//
// batch.cuh
//===----------------------------------------------------------------------===//

TEST(BatchTest, EveryBlockFindsItsMember) {
  constexpr unsigned firstBlocks[] = {0, 1, 2, 10, 11, 500, 501, 507};
  for (unsigned block = 0; block < 507; ++block) {
    const int member = findMember(firstBlocks, block);
    EXPECT_LE(firstBlocks[member], block);
    EXPECT_LT(block, firstBlocks[member + 1]);
  }
  constexpr unsigned ofOne[] = {0, 3};
  EXPECT_EQ(findMember(ofOne, 2), 0);
}

} // namespace
