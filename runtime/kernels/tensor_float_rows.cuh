//===- tensor_float_rows.cuh - Products of tf32 matrices --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Rows of products of float32 matrices by tensor cores, which take the elements as tf32: with 10 bits after the binary
/// point. Has the interface of TensorCoreRows.
template <int blocks>
struct TensorFloatRows : TensorCoreProducts<float, blocks> {
  using Products = TensorCoreProducts<float, blocks>;
  using Core = typename Products::Core;
  template <int columns>
  using Product = typename Products::template Product<columns>;
  template <int columns>
  using Result = typename Products::template Result<columns>;

  template <class Tile, int summed, int columns>
  __device__ static void addProduct(Result<columns> &sum, const Product<summed> &left, unsigned right, int firstColumn,
                                    unsigned /*scratch*/) {
    const unsigned address = right + threadIdx.x % 4 * 2 * Tile::pitch + (firstColumn + threadIdx.x % 32 / 4) * 4;
#pragma unroll
    for (int step = 0; step < summed / 8; ++step) {
      // The order of the summed axis does not matter: a lane has columns 2t and 2t + 1 of the left, which the
      // instruction takes for t and t + 4, and so reads these rows of the right for those.
      unsigned fragments[blocks][4];
#pragma unroll
      for (int block = 0; block < blocks; ++block)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          fragments[block][i] = Core::round(__float_as_uint(left.values[2 * block + i % 2][2 * step + i / 2]));
#pragma unroll
      for (int column = 0; column < columns / 8; ++column) {
        const unsigned place = address + step * 8 * Tile::pitch + column * 32;
        const unsigned upper = Core::round(loadSharedWord(place)),
                       lower = Core::round(loadSharedWord(place + Tile::pitch));
#pragma unroll
        for (int block = 0; block < blocks; ++block)
          Products::multiplyColumns(sum, fragments[block], upper, lower, block, column);
      }
    }
  }

  template <class Tile, int columns>
  __device__ static void write(unsigned rows, const Result<columns> &result, int firstColumn) {
#pragma unroll
    for (int i = 0; i < Products::perLane; ++i)
#pragma unroll
      for (int j = 0; j < Result<columns>::perRow; ++j)
        storeSharedWord(rows + result.getRow(i) * Tile::pitch + (firstColumn + result.getColumn(j)) * 4,
                        __float_as_uint(result.values[i][j]));
  }

  /// The second chunk is rounded to what the cores take of it in other products.
  __device__ static float multiplyChunks(const Chunk &a, const Chunk &b) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum = fmaf(__uint_as_float(a.words[i]), __uint_as_float(Core::round(b.words[i]) & 0xffffe000), sum);
    return sum;
  }
};
