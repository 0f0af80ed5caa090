//===- attention.cuh - Parts that all attention kernels share ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A `Problem` describes one attention by constants: batches, queryHeads, keyHeads, queries, keys, headDim, scale,
// isCausal, and the layouts (HeadLayout) QueryLayout, KeyLayout, ….

constexpr float log2OfE = 1.4426950408889634f;

/// The tile of a head that a thread block computes. A head has `tiles` tiles of `perTile` rows. Blocks start with the
/// tiles of all heads that have the most work, so that short tiles fill the end of the grid.
template <int tiles, int perTile, int heads, bool isLastLongest>
struct HeadTile {
  int first, head, batch;

  __device__ static HeadTile fromBlock(int block, int batches) {
    const int tile = block / (batches * heads), headOfBatch = block % (batches * heads);
    return {(isLastLongest ? tiles - 1 - tile : tile) * perTile, headOfBatch % heads, headOfBatch / heads};
  }
};

__device__ constexpr int countTiles(int rows, int perTile) { return (rows + perTile - 1) / perTile; }

/// Sets masked scores to −∞: those of keys from `keys` on and, if attention is causal, those of keys after the query.
/// Rows are queries and columns are keys, or the other way round if `rowsAreKeys`. They start at `firstRow` and
/// `firstColumn`.
template <bool isCausal, bool rowsAreKeys, class Accumulator>
__device__ inline void maskScores(Accumulator &scores, int firstRow, int firstColumn, int keys) {
#pragma unroll
  for (int i = 0; i < sizeof(scores.values) / sizeof(scores.values[0]); ++i)
#pragma unroll
    for (int j = 0; j < Accumulator::valuesPerRow; ++j) {
      const int row = firstRow + scores.getRow(i), column = firstColumn + scores.getColumn(j);
      const int key = rowsAreKeys ? row : column, query = rowsAreKeys ? column : row;
      if (key >= keys || (isCausal && key > query))
        scores.values[i][j] = -infinity();
    }
}
