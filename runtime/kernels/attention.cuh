//===- attention.cuh - What attention's kernels share -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A `Problem` has what is known of an attention: batches, queryHeads, keyHeads, queries, keys, headDim, scale,
// isCausal, and the layouts (HeadLayout) QueryLayout, KeyLayout, ….

constexpr float log2OfE = 1.4426950408889634f;

/// One of `tiles` tiles of `perTile` rows of a head, which a block of the grid works for. The tiles of all heads with
/// the most work come first, so that short ones fill the end.
template <int tiles, int perTile, int heads, bool isLastLongest>
struct TileOfHead {
  int first, head, batch;

  __device__ static TileOfHead ofBlock(int block, int batches) {
    const int tile = block / (batches * heads), ofBatches = block % (batches * heads);
    return {(isLastLongest ? tiles - 1 - tile : tile) * perTile, ofBatches % heads, ofBatches / heads};
  }
};

__device__ constexpr int countTiles(int rows, int perTile) { return (rows + perTile - 1) / perTile; }

/// Hides scores: those of keys from `keys` on, and where attention is causal of keys after the query. Rows are queries
/// and columns keys, counted from `firstRow` and `firstColumn`, or the other way round.
template <bool isCausal, bool rowsAreKeys, class Product>
__device__ inline void hideScores(Product &scores, int firstRow, int firstColumn, int keys) {
#pragma unroll
  for (int i = 0; i < sizeof(scores.values) / sizeof(scores.values[0]); ++i)
#pragma unroll
    for (int j = 0; j < Product::perRow; ++j) {
      const int row = firstRow + scores.getRow(i), column = firstColumn + scores.getColumn(j);
      const int key = rowsAreKeys ? row : column, query = rowsAreKeys ? column : row;
      if (key >= keys || (isCausal && key > query))
        scores.values[i][j] = -infinity();
    }
}
