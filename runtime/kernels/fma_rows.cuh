//===- fma_rows.cuh - Matmuls of float32 by multiply-adds -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The row block of float32 matmuls that a warp computes with fused multiply-adds. Each half of the warp computes half
/// of the rows. Right operands are in shared memory. Has the interface of TensorCoreRowBlock.
template <int rowsPerLane>
struct FmaRowBlock {
  using Element = float;

  static constexpr int perWarp = 2 * rowsPerLane, perLane = rowsPerLane, lanesPerRow = 16;
  static constexpr int depthMultiple = 4;
  template <int columns>
  static constexpr int stagingBytes = perWarp * (columns + 4) * 4;

  template <int numColumns>
  struct Accumulator {
    static_assert(numColumns % 16 == 0);
    static constexpr int columns = numColumns, valuesPerRow = columns / 16;
    float values[perLane][valuesPerRow];
    __device__ static int getRow(int i) { return threadIdx.x % 32 / 16 * perLane + i; }
    __device__ static int getColumn(int j) { return threadIdx.x % 16 + 16 * j; }
  };
  /// A lane's part of a final result, in whole chunks.
  template <int numColumns>
  struct Result {
    static constexpr int columns = numColumns, chunks = columns / 4, chunksPerLane = (chunks + 15) / 16,
                         valuesPerRow = 4 * chunksPerLane;
    float values[perLane][valuesPerRow];
    __device__ static int getRow(int i) { return threadIdx.x % 32 / 16 * perLane + i; }
    __device__ static int getChunk(int j) { return threadIdx.x % 16 + 16 * j; }
    /// Returns true if chunk j exists: a lane's last chunk may lie beyond the columns.
    __device__ static bool hasChunk(int j) { return 16 * (j + 1) <= chunks || getChunk(j) < chunks; }
  };

  template <class Tile, bool isKept>
  class LeftFragment {
  public:
    __device__ explicit LeftFragment(unsigned rows) : address(rows + threadIdx.x % 32 / 16 * perLane * Tile::pitch) {}
    /// Returns elements 4 · step, …, 4 · step + 3 of a row.
    __device__ Chunk get(int row, int step) const { return loadSharedChunk(address + row * Tile::pitch + step * 16); }

  private:
    unsigned address;
  };

  template <class Tile, int columns, bool isKept>
  __device__ static void multiplyTransposed(Accumulator<columns> &accumulator, const LeftFragment<Tile, isKept> &left,
                                            unsigned right) {
    clear(accumulator);
    const unsigned address = right + threadIdx.x % 16 * Tile::pitch;
#pragma unroll 1
    for (int step = 0; step < Tile::depth / 4; ++step) {
      Chunk rows[perLane];
#pragma unroll
      for (int i = 0; i < perLane; ++i)
        rows[i] = left.get(i, step);
#pragma unroll
      for (int j = 0; j < Accumulator<columns>::valuesPerRow; ++j) {
        const Chunk column = loadSharedChunk(address + j * 16 * Tile::pitch + step * 16);
#pragma unroll
        for (int i = 0; i < perLane; ++i)
#pragma unroll
          for (int k = 0; k < 4; ++k)
            accumulator.values[i][j] = multiplyAdd(rows[i].words[k], column.words[k], accumulator.values[i][j]);
      }
    }
  }

  template <class Tile, int reductionSize, int columns>
  __device__ static void multiplyAccumulate(Result<columns> &sum, const Accumulator<reductionSize> &left,
                                            unsigned right, int firstColumn, unsigned staging) {
    constexpr int pitch = (reductionSize + 4) * 4;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < perLane; ++i)
#pragma unroll
      for (int j = 0; j < Accumulator<reductionSize>::valuesPerRow; ++j)
        storeSharedWord(staging + left.getRow(i) * pitch + left.getColumn(j) * 4, __float_as_uint(left.values[i][j]));
    __syncwarp();
    const unsigned rows = staging + sum.getRow(0) * pitch;
#pragma unroll 1
    for (int step = 0; step < reductionSize / 4; ++step) {
      Chunk chunks[perLane];
#pragma unroll
      for (int i = 0; i < perLane; ++i)
        chunks[i] = loadSharedChunk(rows + i * pitch + step * 16);
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int j = 0; j < Result<columns>::chunksPerLane; ++j) {
          if (!sum.hasChunk(j))
            continue;
          const Chunk chunk =
              loadSharedChunk(right + (4 * step + k) * Tile::pitch + firstColumn * 4 + sum.getChunk(j) * 16);
#pragma unroll
          for (int i = 0; i < perLane; ++i)
#pragma unroll
            for (int l = 0; l < 4; ++l)
              sum.values[i][4 * j + l] = multiplyAdd(chunks[i].words[k], chunk.words[l], sum.values[i][4 * j + l]);
        }
    }
  }

  template <class Sum>
  __device__ static void clear(Sum &sum) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
#pragma unroll
      for (int j = 0; j < Sum::valuesPerRow; ++j)
        sum.values[i][j] = 0;
  }

  template <class Tile, int columns>
  __device__ static void write(unsigned rows, const Result<columns> &result, int firstColumn) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
#pragma unroll
      for (int j = 0; j < Result<columns>::chunksPerLane; ++j) {
        if (!result.hasChunk(j))
          continue;
        Chunk chunk;
#pragma unroll
        for (int l = 0; l < 4; ++l)
          chunk.words[l] = __float_as_uint(result.values[i][4 * j + l]);
        storeSharedChunk(rows + Tile::getOffset(result.getRow(i), firstColumn / 4 + result.getChunk(j)), chunk);
      }
  }

  __device__ static float dotChunks(const Chunk &a, const Chunk &b) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum = multiplyAdd(a.words[i], b.words[i], sum);
    return sum;
  }

private:
  __device__ static float multiplyAdd(unsigned a, unsigned b, float sum) {
    return fmaf(__uint_as_float(a), __uint_as_float(b), sum);
  }
};
