//===- mean_of_keys.cuh - The mean of a head's keys -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The mean of a sample of a head's keys: the first rows of each tile. A thread sums one chunk of one row per tile.
/// Empty if it is not needed.
template <class RowBlock, class Tile, int threads, int keysPerTile, bool isNeeded>
class KeyMean {};

template <class RowBlock, class Tile, int threads, int keysPerTile>
class KeyMean<RowBlock, Tile, threads, keysPerTile, true> {
  static constexpr int perChunk = Tile::elementsPerChunk, columns = Tile::usedChunks * perChunk;
  static constexpr int fittingRows = threads / Tile::usedChunks;
  static constexpr int rows = fittingRows < keysPerTile ? fittingRows : keysPerTile;
  static_assert(rows > 0 && rows * columns * 4 <= keysPerTile * Tile::pitch * 2, "two tiles have room for the sums");

public:
  /// Adds the sampled rows of a tile. Rows past the last key are zeros.
  __device__ void add(unsigned tile) {
    if (getRow() < rows)
      RowBlock::addChunk(sums, loadSharedChunk(tile + Tile::getOffset(getRow(), getChunk())));
  }

  /// Writes the mean of the `tiles` tiles that were added, which hold `keys` keys, to shared memory. `to` has room for
  /// two tiles that no thread reads or copies to any more. All threads of the block call this.
  __device__ void write(unsigned to, int tiles, int keys) const {
    const int before = tiles - 1, last = keys - before * keysPerTile;
    const float count = before * rows + (last < rows ? last : rows);
    __syncthreads();
    if (getRow() < rows)
#pragma unroll
      for (int i = 0; i < perChunk; ++i)
        storeSharedWord(to + (getRow() * columns + getChunk() * perChunk + i) * 4, __float_as_uint(sums[i]));
    __syncthreads();
    for (int column = threadIdx.x; column < columns; column += threads) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < rows; ++i)
        sum += __uint_as_float(loadSharedWord(to + (i * columns + column) * 4));
      storeSharedWord(to + column * 4, __float_as_uint(sum / count));
    }
    __syncthreads();
  }

  /// Returns one column of the mean that `write` has stored, or zero beyond the elements of a row.
  __device__ static float get(unsigned from, int column) {
    return column < columns ? __uint_as_float(loadSharedWord(from + column * 4)) : 0;
  }

private:
  /// Return the row of a tile, and the chunk of this row, that the thread sums.
  __device__ static int getRow() { return threadIdx.x / Tile::usedChunks; }
  __device__ static int getChunk() { return threadIdx.x % Tile::usedChunks; }

  float sums[perChunk] = {};
};
