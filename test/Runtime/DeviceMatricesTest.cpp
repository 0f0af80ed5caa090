//===- DeviceMatricesTest.cpp - Matrices in runtime/kernels ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles in shared memory and matmuls of them, compiled for the host. All elements are small integers, so that results
// are exact and any confusion of elements shows.
//
//===----------------------------------------------------------------------===//

#include "cuda_on_host.h"

// In the order of a kernel's text.
#include "bf16.cuh"
#include "f16.cuh"

#include "async_copy.cuh"

#include "mma.cuh"

#include "mma_bf16.cuh"
#include "mma_f16.cuh"
#include "mma_tf32.cuh"

#include "shared_tile.cuh"

#include "tensor_core_rows.cuh"

#include "fma_rows.cuh"
#include "tensor_float_rows.cuh"

#include "head_layout.cuh"

#include <algorithm>
#include <gmock/gmock.h>
#include <random>
#include <vector>

namespace {

float toFloat(float x) { return x; }
float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
float toFloat(__half x) { return __half2float(x); }

template <typename Element>
Element fromFloat(float x) {
  if constexpr (std::is_same_v<Element, __nv_bfloat16>)
    return __float2bfloat16_rn(x);
  else
    return static_cast<Element>(x);
}

template <typename Element>
std::vector<Element> smallIntegers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Element> elements(count);
  std::generate(elements.begin(), elements.end(), [&] { return fromFloat<Element>(float(random() % 7) - 3); });
  return elements;
}

template <typename... Parameters>
void launch(void (*kernel)(Parameters...), int threads, size_t sharedBytes,
            std::type_identity_t<Parameters>... buffers) {
  void *const pointers[] = {const_cast<void *>(static_cast<const void *>(buffers))...};
  runOnHost(kernel, pointers, 1, threads, sharedBytes);
}

//===----------------------------------------------------------------------===//
// shared_tile.cuh
//===----------------------------------------------------------------------===//

constexpr int kThreads = 96, kRows = 40, kValidRows = 37, kStride = 272;

/// Copies rows to shared memory and back, and adds up the padding behind each of them in `padding`.
template <class Tile, int columns, class Layout, class Element>
void copyThroughTile(const Element *in, Element *out, float *padding) {
  const unsigned tile = getSharedMemory();
  Tile::template load<Layout, kThreads, kRows>(tile, in, kValidRows);
  commitCopies();
  waitForCopies<0>();
  __syncthreads();
  if (threadIdx.x < 32)
    Tile::template store<Layout, kRows, Tile::depth>(out, tile, kValidRows);
  for (int row = threadIdx.x; row < kRows; row += kThreads) {
    float sum = 0;
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      const Chunk elements = loadSharedChunk(tile + Tile::getOffset(row, chunk));
      for (int i = 0; i < 8; ++i) {
        const bool isPadding = row >= kValidRows || chunk * 16 + i * 2 >= columns * int(sizeof(Element));
        sum += isPadding ? float(elements.words[i / 2] >> i % 2 * 16 & 0xffff) : 0;
      }
    }
    padding[row] = sum;
  }
}

template <class Element, int columns, int depthMultiple, int bytes>
void checkTile() {
  using Tile = SharedTile<Element, columns, depthMultiple>;
  using Layout = HeadLayout<0, kStride, 0, bytes>;
  const auto in = smallIntegers<Element>(kRows * kStride, columns);
  std::vector<Element> out(in.size(), fromFloat<Element>(9));
  std::vector<float> padding(kRows, -1);
  launch(copyThroughTile<Tile, columns, Layout, Element>, kThreads, kRows * Tile::pitch, in.data(), out.data(),
         padding.data());
  for (int i = 0; i < kRows * kStride; ++i) {
    const bool isCopied = i / kStride < kValidRows && i % kStride < columns;
    ASSERT_EQ(toFloat(out[i]), isCopied ? toFloat(in[i]) : 9) << columns << " columns, element " << i;
  }
  EXPECT_THAT(padding, testing::Each(0));
}

TEST(SharedTileTest, CopiesRowsAndFillsWithZeros) {
  checkTile<__nv_bfloat16, 8, 16, 16>();
  checkTile<__nv_bfloat16, 64, 16, 16>();
  checkTile<__half, 80, 16, 8>();
  checkTile<__nv_bfloat16, 200, 32, 4>();
  checkTile<__nv_bfloat16, 256, 16, 2>();
  checkTile<float, 24, 4, 16>();
  // More chunks than threads.
  checkTile<float, 256, 16, 4>();
}

TEST(SharedTileTest, CopiesRowsThatEndWithinAChunk) {
  // Rows that are aligned to as many bytes as their last chunk has.
  checkTile<__nv_bfloat16, 20, 16, 8>();
  checkTile<__half, 18, 16, 4>();
  checkTile<__nv_bfloat16, 1, 16, 2>();
  checkTile<float, 6, 4, 8>();
  // Rows that are aligned to more bytes.
  checkTile<__nv_bfloat16, 20, 16, 16>();
  checkTile<__nv_bfloat16, 254, 32, 16>();
  checkTile<__half, 105, 16, 8>();
  checkTile<float, 7, 16, 16>();
  // Rows that are aligned to fewer bytes.
  checkTile<__nv_bfloat16, 100, 16, 2>();
  checkTile<float, 130, 16, 4>();
}

/// Checks that eight chunks of one column in consecutive rows, which are read
/// at once, lie in different banks.
template <class Tile>
void checkBanks() {
  for (int chunk = 0; chunk < Tile::chunks; ++chunk)
    for (int row = 0; row < 32; row += 8) {
      unsigned banks = 0;
      for (int i = 0; i < 8; ++i)
        banks |= 1u << Tile::getOffset(row + i, chunk) / 16 % 8;
      EXPECT_EQ(banks, 0xffu);
    }
}

TEST(SharedTileTest, HasNoBankConflicts) {
  checkBanks<SharedTile<__nv_bfloat16, 64, 16>>();
  checkBanks<SharedTile<__nv_bfloat16, 80, 16>>();
  checkBanks<SharedTile<__nv_bfloat16, 24, 16>>();
  checkBanks<SharedTile<__nv_bfloat16, 192, 16>>();
  checkBanks<SharedTile<float, 64, 4>>();
}

//===----------------------------------------------------------------------===//
// tensor_core_rows.cuh, tensor_float_rows.cuh, fma_rows.cuh
//===----------------------------------------------------------------------===//

constexpr int kWarps = 2, kReductionSize = 32, kColumns = 48;

/// Computes result = (left · rightᵀ) · values, where the first matmul is rounded to the
/// elements' type.
template <class RowBlock, bool isKept>
void multiplyTwice(const typename RowBlock::Element *left, const typename RowBlock::Element *right,
                   const typename RowBlock::Element *values, typename RowBlock::Element *result) {
  using Tile = SharedTile<typename RowBlock::Element, kColumns, RowBlock::depthMultiple>;
  using Layout = HeadLayout<0, kColumns, 0, 16>;
  constexpr int threads = 32 * kWarps, rows = kWarps * RowBlock::perWarp, warpBytes = RowBlock::perWarp * Tile::pitch;
  const int warp = threadIdx.x / 32;
  const unsigned leftTile = getSharedMemory(), rightTile = leftTile + rows * Tile::pitch;
  const unsigned valueTile = rightTile + kReductionSize * Tile::pitch;
  const unsigned staging =
      valueTile + kReductionSize * Tile::pitch + warp * RowBlock::template stagingBytes<kReductionSize>;
  Tile::template load<Layout, threads, rows>(leftTile, left, rows);
  Tile::template load<Layout, threads, kReductionSize>(rightTile, right, kReductionSize);
  Tile::template load<Layout, threads, kReductionSize>(valueTile, values, kReductionSize);
  commitCopies();
  waitForCopies<0>();
  __syncthreads();
  const typename RowBlock::template LeftFragment<Tile, isKept> operand(leftTile + warp * warpBytes);
  typename RowBlock::template Accumulator<kReductionSize> accumulator;
  RowBlock::multiplyTransposed(accumulator, operand, rightTile);
  typename RowBlock::template Result<kColumns> sum;
  RowBlock::clear(sum);
  RowBlock::template multiplyAccumulate<Tile>(sum, accumulator, valueTile, 0, staging);
  __syncwarp();
  RowBlock::template write<Tile>(leftTile + warp * warpBytes, sum, 0);
  __syncwarp();
  Tile::template store<Layout, RowBlock::perWarp, kColumns>(result + warp * RowBlock::perWarp * kColumns,
                                                            leftTile + warp * warpBytes, RowBlock::perWarp);
}

template <class RowBlock, bool isKept>
void checkMatmuls() {
  using Element = typename RowBlock::Element;
  using Tile = SharedTile<Element, kColumns, RowBlock::depthMultiple>;
  constexpr int rows = kWarps * RowBlock::perWarp;
  const auto left = smallIntegers<Element>(rows * kColumns, 1),
             right = smallIntegers<Element>(kReductionSize * kColumns, 2);
  const auto values = smallIntegers<Element>(kReductionSize * kColumns, 3);
  std::vector<Element> result(rows * kColumns);
  launch(multiplyTwice<RowBlock, isKept>, 32 * kWarps,
         (rows + 2 * kReductionSize) * Tile::pitch + kWarps * RowBlock::template stagingBytes<kReductionSize>,
         left.data(), right.data(), values.data(), result.data());
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      float expected = 0;
      for (int k = 0; k < kReductionSize; ++k) {
        float dot = 0;
        for (int i = 0; i < kColumns; ++i)
          dot += toFloat(left[row * kColumns + i]) * toFloat(right[k * kColumns + i]);
        expected += toFloat(fromFloat<Element>(dot)) * toFloat(values[k * kColumns + column]);
      }
      ASSERT_EQ(toFloat(result[row * kColumns + column]), toFloat(fromFloat<Element>(expected)))
          << "row " << row << ", column " << column;
    }
}

TEST(TensorCoreRowBlockTest, Multiply) {
  checkMatmuls<TensorCoreRowBlock<__nv_bfloat16, 1>, true>();
  checkMatmuls<TensorCoreRowBlock<__half, 1>, false>();
  checkMatmuls<TensorCoreRowBlock<__nv_bfloat16, 2>, false>();
  checkMatmuls<TensorCoreRowBlock<__half, 2>, true>();
}

TEST(TensorFloatRowBlockTest, Multiply) {
  checkMatmuls<TensorFloatRowBlock<1>, true>();
  checkMatmuls<TensorFloatRowBlock<2>, false>();
}

TEST(TensorFloatRowBlockTest, RoundsToTenBits) {
  const float ulp = 1.0f / 1024;
  auto round = [](float x) { return __uint_as_float(TensorCore<float>::round(__float_as_uint(x)) & 0xffffe000u); };
  EXPECT_EQ(round(1 + 0.49f * ulp), 1);
  EXPECT_EQ(round(1 + 0.5f * ulp), 1 + ulp);
  EXPECT_EQ(round(-1 - 0.75f * ulp), -1 - ulp);
}

TEST(FmaRowBlockTest, Multiply) {
  checkMatmuls<FmaRowBlock<4>, false>();
  checkMatmuls<FmaRowBlock<2>, false>();
}

} // namespace
