//===- warpgroup_mask.cuh - Masks and score functions -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Which tiles of keys need a mask, and the mask itself. Each thread of a computing warpgroup calls these functions for
// its part of a tile of scores: 64 queries and keysPerTile keys, in wgmma.cuh's order. `Tile` is a QueryTile.

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

/// The range of a query tile's tiles of keys that are interior for all queries of a warpgroup: from `begin` to `end`
/// - 1. Tiles outside of it need the score function as a whole.
struct InteriorTiles {
  int begin, end;

  /// `first` is the warpgroup's first query, and tiles are counted from key `skippedKeys` on.
  template <class Problem, int keysPerTile>
  __device__ static InteriorTiles find(int first, int skippedKeys) {
    using Score = ScoreOf<Problem>;
    const int last = first + rowsPerWarpgroup - 1;
    // The first key and the end of the keys at interior distances from all queries.
    const int firstKey = last - Score::lastInterior - skippedKeys, endOfKeys = first - Score::firstInterior + 1;
    const int end = (endOfKeys < Problem::keys ? endOfKeys : Problem::keys) - skippedKeys;
    // Functions read tables at existing queries only.
    if (end < 0 || (!Score::interiorIsScore && last >= Problem::queries))
      return {0, 0};
    return {firstKey > 0 ? countTiles(firstKey, keysPerTile) : 0, end / keysPerTile};
  }
};

/// Replaces q · k of a tile by scores, and fills `derivatives` if they are given. The thread's first row is `firstRow`,
/// and its first column is `firstColumn`. Rows are queries and columns are keys, or the other way round if
/// `rowsAreKeys`.
template <class Problem, bool isInterior, bool rowsAreKeys, int size, class... Derivatives>
__device__ inline void applyScoreFunction(const ScoreOf<Problem> &function, float (&scores)[size], int firstRow,
                                          int firstColumn, int batch, int head, Derivatives &...derivatives) {
  if constexpr (isInterior && ScoreOf<Problem>::interiorIsScore)
    return;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int row = firstRow + i / 2 % 2 * 8, column = firstColumn + 8 * (i / 4) + i % 2;
    const int query = rowsAreKeys ? column : row, key = rowsAreKeys ? row : column;
    if constexpr (isInterior && !ScoreOf<Problem>::interiorIsScore) {
      scores[i] =
          computeInterior(function, scaleOfDots<Problem> * scores[i], batch, head, query, key, derivatives[i]...);
      continue;
    }
    const bool exists = key < Problem::keys && query < Problem::queries && !(Problem::isCausal && key > query);
    if constexpr (hidesTiles<Problem>) {
      // A branch per pair takes registers. The function can be called for another pair that exists.
      const float score = function.compute(scaleOfDots<Problem> * scores[i], batch, head,
                                           query < Problem::queries ? query : Problem::queries - 1,
                                           key < Problem::keys ? key : Problem::keys - 1, derivatives[i]...);
      scores[i] = exists ? score : -infinity();
      (static_cast<void>(derivatives[i] = exists ? derivatives[i] : 0), ...);
      continue;
    }
    (static_cast<void>(derivatives[i] = 0), ...);
    scores[i] = exists ? function.compute(scaleOfDots<Problem> * scores[i], batch, head, query, key, derivatives[i]...)
                       : -infinity();
  }
}

/// Returns the number of the first tile of keys that some query of the warpgroup does not see as a whole. Requires a
/// causal mask without a score function.
template <class Tile>
__device__ inline int findFirstMasked(const Tile &tile, int warpgroup) {
  return (tile.first + warpgroup * rowsPerWarpgroup) / Tile::keysPerTile;
}

/// Goes through the tiles of keys from number `keyTile` to 0, with the number in `keyTile`, and calls
/// `computeTile(isMasked)` for each. `isMasked` is true for tiles that some query of the warpgroup does not see as a
/// whole, and with a score function for those that are not interior.
template <class Problem, class Tile, class ComputeTile>
__device__ inline void visitKeyTiles(const Tile &tile, const WarpgroupLane &lane, int &keyTile,
                                     const ComputeTile &computeTile) {
  if constexpr (ScoreOf<Problem>::exists) {
    // The tiles after the interior ones, these, and those before them.
    const auto interior = InteriorTiles::find<Problem, Tile::keysPerTile>(
        tile.first + lane.warpgroup * rowsPerWarpgroup, tile.skippedKeys);
#pragma unroll 1
    for (; keyTile >= interior.end; --keyTile)
      computeTile(true);
#pragma unroll 1
    for (; keyTile >= interior.begin; --keyTile)
      computeTile(false);
#pragma unroll 1
    for (; keyTile >= 0; --keyTile)
      computeTile(true);
  } else {
    // Without a causal mask, only the last tile of keys can have columns without a key. Callers compute it themselves.
    if constexpr (Problem::isCausal)
#pragma unroll 1
      for (; keyTile >= findFirstMasked(tile, lane.warpgroup); --keyTile)
        computeTile(true);
#pragma unroll 1
    for (; keyTile >= 0; --keyTile)
      computeTile(false);
  }
}

/// The same for `left` tiles that the copying thread chose. `await` waits for the next one and returns it.
template <class Problem, class Tile, class Await, class ComputeTile>
__device__ inline void visitChosenTiles(const Tile &tile, const WarpgroupLane &lane, int left, int &keyTile,
                                        const Await &await, const ComputeTile &computeTile) {
  const auto interior =
      InteriorTiles::find<Problem, Tile::keysPerTile>(tile.first + lane.warpgroup * rowsPerWarpgroup, tile.skippedKeys);
#pragma unroll 1
  for (; left > 0; --left) {
    const VisitedTile visited = await();
    keyTile = visited.number;
    computeTile(!visited.isWhole || keyTile < interior.begin || keyTile >= interior.end);
  }
}

/// Computes scores from q · k for the keys of a tile.
template <class Problem, bool isInterior, class Tile, int size, class... Derivatives>
__device__ inline void applyToTile(const ScoreOf<Problem> &function, float (&scores)[size], const Tile &tile,
                                   int keyTile, const WarpgroupLane &lane, Derivatives &...derivatives) {
  int query = tile.first + lane.row, key = tile.getFirstKey(keyTile) + lane.column;
  // Keeps the compiler from computing all indices before the loop over tiles, which takes registers.
  asm volatile("" : "+r"(query), "+r"(key));
  applyScoreFunction<Problem, isInterior, /*rowsAreKeys=*/false>(function, scores, query, key, tile.batch, tile.head,
                                                                 derivatives...);
}

/// The same where rows are the warpgroup's 64 keys of a block whose first one is `firstKey`, and columns are the
/// queries of a tile as long. `isWhole` is false if data may keep the tile from being interior.
template <class Problem, int size, class... Derivatives>
__device__ inline void applyToQueries(const ScoreOf<Problem> &function, float (&scores)[size], int firstQuery,
                                      int firstKey, int batch, int head, bool isWhole, const WarpgroupLane &lane,
                                      Derivatives &...derivatives) {
  using Score = ScoreOf<Problem>;
  const int firstOwn = firstKey + lane.warpgroup * rowsPerWarpgroup, lastOwn = firstOwn + rowsPerWarpgroup - 1;
  const int lastQuery = firstQuery + 2 * size - 1;
  // Functions read tables at existing queries only.
  const bool isInterior = isWhole && firstQuery - lastOwn >= Score::firstInterior &&
                          lastQuery - firstOwn <= Score::lastInterior && lastOwn < Problem::keys &&
                          (Score::interiorIsScore || lastQuery < Problem::queries);
  int row = firstKey + lane.row, column = firstQuery + lane.column;
  // Keeps the compiler from computing all indices before the function, which takes registers.
  asm volatile("" : "+r"(row), "+r"(column), "+r"(batch), "+r"(head));
  if (isInterior)
    applyScoreFunction<Problem, true, /*rowsAreKeys=*/true>(function, scores, row, column, batch, head, derivatives...);
  else
    applyScoreFunction<Problem, false, /*rowsAreKeys=*/true>(function, scores, row, column, batch, head,
                                                             derivatives...);
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
