//===- sampled_mean.cuh - The mean of a head's keys in slabs ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The mean of a sample of a head's keys: the first rows of each tile. The last three warps of the first warpgroup
/// compute it; a thread sums one chunk of four rows per tile.
template <class Element, class Keys, int headDim>
class SampledMean {
  static constexpr int threads = 96, chunks = headDim / 8;
  /// Rows that the threads read at once, and in all.
  static constexpr int rowsAtOnce = threads / chunks, rows = 4 * rowsAtOnce;
  static_assert(headDim % 8 == 0 && rowsAtOnce > 0 && rows <= Keys::rows);

public:
  /// Bytes of shared memory: the mean, then the sums of the threads.
  static constexpr int bytes = headDim * 4 + threads * 8 * 4;

  /// Adds the sampled rows of a tile. Rows past the last key are zeros.
  __device__ void add(unsigned tile) {
    if (getRow() >= rowsAtOnce)
      return;
#pragma unroll
    for (int row = 0; row < rows; row += rowsAtOnce) {
      const ::Chunk words = loadSharedChunk(Keys::getChunk(tile, row + getRow(), getChunk()));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[2 * i] += TensorCore<Element>::getFirst(words.words[i]);
        sums[2 * i + 1] += TensorCore<Element>::getSecond(words.words[i]);
      }
    }
  }

  /// Writes the mean over `tiles` tiles, of a head with `keys` keys, to `to`, and starts anew. `ring` has one stage:
  /// the mean, which the computing warpgroups use.
  __device__ void write(unsigned to, int tiles, int keys, Ring<1> &ring) {
    const unsigned parts = to + headDim * 4;
    if (getRow() < rowsAtOnce)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        storeSharedWord(parts + (getRow() * headDim + getChunk() * 8 + i) * 4, __float_as_uint(sums[i]));
        sums[i] = 0;
      }
    ring.awaitFree();
    awaitThreads<threads>(barrierNumber);
    const int before = tiles - 1, last = keys - before * Keys::rows;
    const float count = before * rows + (last < rows ? last : rows);
    for (int column = getThread(); column < headDim; column += threads) {
      float sum = 0;
      for (int row = 0; row < rowsAtOnce; ++row)
        sum += __uint_as_float(loadSharedWord(parts + (row * headDim + column) * 4));
      storeSharedWord(to + column * 4, __float_as_uint(sum / count));
    }
    // Also keeps the next sums from overwriting these.
    awaitThreads<threads>(barrierNumber);
    if (getThread() == 0)
      arrive(ring.getFullBarrier());
    ring.advance();
  }

  /// Returns one column of the mean, or zero beyond the elements of a row.
  __device__ static float get(unsigned from, int column) {
    return column < headDim ? __uint_as_float(loadSharedWord(from + column * 4)) : 0;
  }

private:
  static constexpr int barrierNumber = 15;
  __device__ static int getThread() { return threadIdx.x - 32; }
  /// Return the first row of a tile that the thread sums, and the chunk of each row.
  __device__ static int getRow() { return getThread() / chunks; }
  __device__ static int getChunk() { return getThread() % chunks; }

  float sums[8] = {};
};
