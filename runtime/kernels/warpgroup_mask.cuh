//===- warpgroup_mask.cuh - Masks -------------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Hides pairs of a tile by the distance of query and key. Each thread of a computing warpgroup calls these functions
// for its part of a tile of scores: 64 rows, in wgmma.cuh's order. `Tile` is a QueryTile.

/// Sets scores of a tile to −∞ whose column is after `lasts`, the last visible columns of the thread's two rows,
/// counted from the thread's first column.
template <int size>
__device__ inline void hideAfter(float (&scores)[size], const int (&lasts)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (8 * (i / 4) + i % 2 > lasts[i / 2 % 2])
      scores[i] = -infinity();
}
/// The same for columns before `firsts`.
template <int size>
__device__ inline void hideBefore(float (&scores)[size], const int (&firsts)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (8 * (i / 4) + i % 2 < firsts[i / 2 % 2])
      scores[i] = -infinity();
}

/// Hides the keys of a tile that the thread's queries do not see. Without a score function.
template <class Problem, class Tile, int size>
__device__ inline void maskTile(float (&scores)[size], const Tile &tile, int keyTile, const WarpgroupLane &lane) {
  int lasts[2];
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int query = tile.first + lane.row + 8 * row;
    lasts[row] = (Problem::isCausal && query < Problem::keys - 1 ? query : Problem::keys - 1) -
                 keyTile * Tile::keysPerTile - lane.column;
    // Keeps the compiler from computing all comparisons before the loop over tiles, which takes registers.
    asm volatile("" : "+r"(lasts[row]));
  }
  hideAfter(scores, lasts);
}

/// Hides queries that do not see the thread's keys. Rows of these scores are keys of `tile`, and columns are the
/// queries of the tile with the number `queryTile`. For a causal mask.
template <class Tile, int size>
__device__ inline void maskQueries(float (&scores)[size], const Tile &tile, int queryTile, const WarpgroupLane &lane) {
  const int firstQuery = queryTile * (2 * size), key = tile.first + lane.row;
  if (firstQuery < tile.first + (lane.warpgroup + 1) * rowsPerWarpgroup - 1) {
    const int firsts[2] = {key - firstQuery - lane.column, key + 8 - firstQuery - lane.column};
    hideBefore(scores, firsts);
  }
}
/// The same for queries whose tile is `distance` tiles of 64 after the first one that sees some of the block's keys.
template <int size>
__device__ inline void maskQueriesAtDistance(float (&scores)[size], int distance, const WarpgroupLane &lane) {
  static_assert(2 * size == rowsPerWarpgroup);
  if (distance > lane.warpgroup)
    return;
  const int key = lane.row - distance * rowsPerWarpgroup - lane.column, firsts[2] = {key, key + 8};
  hideBefore(scores, firsts);
}

/// Hides pairs of a tile whose distance is not visible, and keys past the last one.
template <class Problem, class Tile, int size>
__device__ inline void clipTile(float (&scores)[size], const Tile &tile, int keyTile, const WarpgroupLane &lane) {
  using Score = ScoreOf<Problem>;
  const int firstKey = tile.getFirstKey(keyTile);
  int query = tile.first + lane.row, key = firstKey + lane.column;
  // Keeps the compiler from computing all comparisons before the loop over tiles, which takes registers.
  asm volatile("" : "+r"(query), "+r"(key));
  const int firstQuery = tile.first + lane.warpgroup * rowsPerWarpgroup, lastQuery = firstQuery + rowsPerWarpgroup - 1;
  const int lastKey = firstKey + 2 * size - 1;
  if (lastKey > firstQuery - Score::firstDistance || lastKey >= Problem::keys) {
    int lasts[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int last = query + 8 * row - Score::firstDistance;
      lasts[row] = (last < Problem::keys ? last : Problem::keys - 1) - key;
    }
    hideAfter(scores, lasts);
  }
  if (isFarHidden<Problem> && firstKey < lastQuery - Score::lastDistance) {
    const int first = query - Score::lastDistance - key, firsts[2] = {first, first + 8};
    hideBefore(scores, firsts);
  }
}

/// Hides pairs of 64 keys and a tile of 64 queries whose distance is not visible. Rows are keys. They begin at
/// `firstKey` + 64 · the number of the warpgroup, and columns begin at `firstQuery`.
template <class Problem, int size>
__device__ inline void clipQueries(float (&scores)[size], int firstQuery, int firstKey, const WarpgroupLane &lane) {
  using Score = ScoreOf<Problem>;
  const int firstOwn = firstKey + lane.warpgroup * rowsPerWarpgroup, lastOwn = firstOwn + rowsPerWarpgroup - 1;
  int distance = firstKey + lane.row - firstQuery - lane.column;
  // Keeps the compiler from computing all comparisons before the loop over tiles, which takes registers.
  asm volatile("" : "+r"(distance));
  if (firstQuery < lastOwn + Score::firstDistance) {
    const int first = distance + Score::firstDistance, firsts[2] = {first, first + 8};
    hideBefore(scores, firsts);
  }
  if (isFarHidden<Problem> && firstQuery + 2 * size - 1 > firstOwn + Score::lastDistance) {
    const int last = distance + Score::lastDistance, lasts[2] = {last, last + 8};
    hideAfter(scores, lasts);
  }
}
