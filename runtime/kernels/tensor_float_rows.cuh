//===- tensor_float_rows.cuh - Matmuls of tf32 ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The row block for float32 elements, which the tensor cores round to tf32: 10 bits after the binary point. Has the
/// interface of TensorCoreRowBlock.
template <int blocks>
struct TensorFloatRowBlock : TensorCoreRowBlockBase<float, blocks> {
  using Base = TensorCoreRowBlockBase<float, blocks>;
  using Core = typename Base::Core;
  template <int columns>
  using Accumulator = typename Base::template Accumulator<columns>;
  template <int columns>
  using Result = typename Base::template Result<columns>;

  template <class Tile, int reductionSize, int columns>
  __device__ static void multiplyAccumulate(Result<columns> &sum, const Accumulator<reductionSize> &left,
                                            unsigned right, int firstColumn, unsigned /*staging*/) {
    const unsigned address = right + threadIdx.x % 4 * 2 * Tile::pitch + (firstColumn + threadIdx.x % 32 / 4) * 4;
#pragma unroll
    for (int step = 0; step < reductionSize / 8; ++step) {
      // The order of the reduction axis is free. A lane holds columns 2t and 2t + 1 of the left operand. The
      // instruction treats them as columns t and t + 4, so the lane loads rows 2t and 2t + 1 of the right operand as t
      // and t + 4.
      unsigned fragments[blocks][4];
#pragma unroll
      for (int block = 0; block < blocks; ++block)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          fragments[block][i] = Core::round(__float_as_uint(left.values[2 * block + i % 2][2 * step + i / 2]));
#pragma unroll
      for (int column = 0; column < columns / 8; ++column) {
        const unsigned origin = address + step * 8 * Tile::pitch + column * 32;
        const unsigned upper = Core::round(loadSharedWord(origin)),
                       lower = Core::round(loadSharedWord(origin + Tile::pitch));
#pragma unroll
        for (int block = 0; block < blocks; ++block)
          Base::multiplyColumns(sum, fragments[block], upper, lower, block, column);
      }
    }
  }

  template <class Tile, int columns>
  __device__ static void write(unsigned rows, const Result<columns> &result, int firstColumn) {
#pragma unroll
    for (int i = 0; i < Base::perLane; ++i)
#pragma unroll
      for (int j = 0; j < Result<columns>::valuesPerRow; ++j)
        storeSharedWord(rows + result.getRow(i) * Tile::pitch + (firstColumn + result.getColumn(j)) * 4,
                        __float_as_uint(result.values[i][j]));
  }

  /// Returns Σ a · b over the elements of two chunks. Rounds b to tf32, as the tensor cores do in matmuls.
  __device__ static float dotChunks(const Chunk &a, const Chunk &b) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum = fmaf(__uint_as_float(a.words[i]), __uint_as_float(Core::round(b.words[i]) & 0xffffe000), sum);
    return sum;
  }
};
