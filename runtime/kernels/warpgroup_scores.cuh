//===- warpgroup_scores.cuh - Score functions of tiles ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Computes scores from q · k. Each thread of a computing warpgroup calls these functions for its part of a tile: 64
// rows, in wgmma.cuh's order. `Tile` is a QueryTile.

/// Replaces q · k of a tile by scores, and fills `derivatives` if they are given. The thread's first row is `firstRow`,
/// and its first column is `firstColumn`. Rows are queries and columns are keys, or the other way round if
/// `rowsAreKeys`. If 64 divides the number of queries, rows are existing queries.
///
/// The function is computed for a pair that exists, even where a pair does not exist or is hidden. With a branch per
/// pair, the compiler would read a table once per pair instead of once for all pairs that have the same distance.
template <class Problem, bool isInterior, bool rowsAreKeys, int size, class... Derivatives>
__device__ inline void applyScoreFunction(const ScoreOf<Problem> &function, float (&scores)[size], int firstRow,
                                          int firstColumn, int batch, int head, Derivatives &...derivatives) {
  if constexpr (isInterior && ScoreOf<Problem>::interiorIsScore)
    return;
  // A block computes 128 rows if they are keys.
  constexpr bool keysExist = Problem::keys % (rowsAreKeys ? 2 * rowsPerWarpgroup : 2 * size) == 0;
  constexpr bool queriesExist = Problem::queries % (rowsAreKeys ? 2 * size : rowsPerWarpgroup) == 0;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int row = firstRow + i / 2 % 2 * 8, column = firstColumn + 8 * (i / 4) + i % 2;
    const int query = rowsAreKeys ? column : row, key = rowsAreKeys ? row : column;
    if constexpr (isInterior && !ScoreOf<Problem>::interiorIsScore) {
      scores[i] =
          computeInterior(function, scaleOfDots<Problem> * scores[i], batch, head, query, key, derivatives[i]...);
      continue;
    }
    const bool keyExists = keysExist || key < Problem::keys, queryExists = queriesExist || query < Problem::queries;
    const float score =
        function.compute(scaleOfDots<Problem> * scores[i], batch, head, queryExists ? query : Problem::queries - 1,
                         keyExists ? key : Problem::keys - 1, derivatives[i]...);
    const bool isVisible = keyExists && queryExists && !(Problem::isCausal && key > query);
    scores[i] = isVisible ? score : -infinity();
    (static_cast<void>(derivatives[i] = isVisible ? derivatives[i] : 0), ...);
  }
}

/// True if data hides pairs and scores stay what they are, so that the pairs that data hides can be hidden first, and
/// those that distances or the ends of the sequences hide by clipping the tile.
template <class Problem>
constexpr bool hidesBeforeClipping = hidesTiles<Problem> && ScoreOf<Problem>::onlyHides && clipsToInterior<Problem>();

/// Hides the pairs of a tile that data hides. Arguments are those of applyScoreFunction.
template <class Problem, bool rowsAreKeys, int size>
__device__ inline void hidePairs(const ScoreOf<Problem> &function, float (&scores)[size], int firstRow, int firstColumn,
                                 int batch, int head) {
  // Functions are called for pairs that exist.
  constexpr int rows = rowsAreKeys ? Problem::keys : Problem::queries;
  constexpr int columns = rowsAreKeys ? Problem::queries : Problem::keys;
  constexpr bool columnsExist = columns % (2 * size) == 0;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    int row = firstRow + i / 2 % 2 * 8, column = firstColumn + 8 * (i / 4) + i % 2;
    row = row < rows ? row : rows - 1;
    column = columnsExist || column < columns ? column : columns - 1;
    scores[i] = function.compute(scores[i], batch, head, rowsAreKeys ? column : row, rowsAreKeys ? row : column);
  }
}

/// Computes scores from q · k for the keys of a tile.
template <class Problem, bool isInterior, class Tile, int size, class... Derivatives>
__device__ inline void applyToTile(const ScoreOf<Problem> &function, float (&scores)[size], const Tile &tile,
                                   int keyTile, const WarpgroupLane &lane, Derivatives &...derivatives) {
  int query = tile.first + lane.row, key = tile.getFirstKey(keyTile) + lane.column;
  if constexpr (!isInterior && Problem::queries % rowsPerWarpgroup == 0) {
    // A warpgroup without queries takes the first or the last ones.
    const int first = lane.row % rowsPerWarpgroup, last = Problem::queries - rowsPerWarpgroup + first;
    query = query < first ? first : query < last ? query : last;
  } else if constexpr (!isInterior && Tile::missing > 0) {
    const int first = lane.row % rowsPerWarpgroup;
    query = query < first ? first : query;
  }
  // Keeps the compiler from computing all indices before the loop over tiles, which takes registers.
  asm volatile("" : "+r"(query), "+r"(key));
  applyScoreFunction<Problem, isInterior, /*rowsAreKeys=*/false>(function, scores, query, key, tile.batch, tile.head,
                                                                 derivatives...);
}

/// Returns the bias of the interior for the keys of a tile.
template <class Problem, class Tile>
__device__ inline TileBias<Problem> findBias(const ScoreOf<Problem> &function, const Tile &tile, int keyTile,
                                             const WarpgroupLane &lane) {
  if constexpr (!hasLinearBias<Problem>)
    return {};
  int query = tile.first + lane.row, key = tile.getFirstKey(keyTile) + (multipliesSteps<Problem> ? 0 : lane.column);
  // Keeps the compiler from computing parts of the bias before this call, which takes registers.
  asm volatile("" : "+r"(query), "+r"(key));
  return TileBias<Problem>::template find</*rowsAreKeys=*/false>(function, query, key, tile.batch, tile.head);
}

/// Computes scores from q · k for the keys of a tile of this form, except for a soft cap, for their factor scaleOfTiles
/// and for the bias that it returns. `interior` is the bias of the interior.
template <class Problem, TileForm form, class Tile, int size>
__device__ inline TileBias<Problem> computeScores(const ScoreOf<Problem> &function, float (&scores)[size],
                                                  const Tile &tile, int keyTile, const TileBias<Problem> &interior,
                                                  const WarpgroupLane &lane) {
  static_assert(form != TileForm::Mixed || hasMixedTiles<Problem>);
  if constexpr (form == TileForm::Mixed && hidesBeforeClipping<Problem>) {
    int query = tile.first + lane.row, key = tile.getFirstKey(keyTile) + lane.column;
    // Keeps the compiler from computing all indices before the loop over tiles, which takes registers.
    asm volatile("" : "+r"(query), "+r"(key));
    hidePairs<Problem, /*rowsAreKeys=*/false>(function, scores, query, key, tile.batch, tile.head);
    clipTile<Problem>(scores, tile, keyTile, lane);
    return {};
  } else if constexpr (form == TileForm::Mixed) {
    applyToTile<Problem, false>(function, scores, tile, keyTile, lane);
    if constexpr (hasLinearBias<Problem>)
      removeScale<Problem>(scores);
    return {};
  } else if constexpr (hasLinearBias<Problem>) {
    interior.addSteps(scores);
  } else if constexpr (!hasSoftCap<Problem>) {
    applyToTile<Problem, true>(function, scores, tile, keyTile, lane);
  }
  if constexpr (form == TileForm::Clipped)
    clipTile<Problem>(scores, tile, keyTile, lane);
  return interior;
}

/// Returns whether the distances of the warpgroup's 64 keys, of a block whose first one is `firstKey`, and the queries
/// of a tile as long are interior. Keys past the last one are outside.
template <class Problem, int size>
__device__ inline bool isInsideOfQueries(int firstQuery, int firstKey, const WarpgroupLane &lane) {
  using Score = ScoreOf<Problem>;
  const int firstOwn = firstKey + lane.warpgroup * rowsPerWarpgroup, lastOwn = firstOwn + rowsPerWarpgroup - 1;
  const int lastQuery = firstQuery + 2 * size - 1;
  return firstQuery - lastOwn >= Score::firstInterior && lastQuery - firstOwn <= Score::lastInterior &&
         lastOwn < Problem::keys;
}

/// Returns whether the function of the interior gives the scores of all pairs of the warpgroup's 64 keys and the
/// queries of a tile as long. `isWhole` is false if data may keep the tile from being interior.
template <class Problem, int size>
__device__ inline bool isInteriorOfQueries(int firstQuery, int firstKey, bool isWhole, const WarpgroupLane &lane) {
  // Functions read tables at existing queries only.
  return isWhole && isInsideOfQueries<Problem, size>(firstQuery, firstKey, lane) &&
         (ScoreOf<Problem>::interiorIsScore || firstQuery + 2 * size <= Problem::queries);
}

/// Computes scores, and derivatives if they are given, where rows are the warpgroup's 64 keys of a block whose first
/// one is `firstKey`, and columns are the queries of a tile as long. `isWhole` is false if data may keep the tile from
/// being interior.
template <class Problem, int size, class... Derivatives>
__device__ inline void applyToQueries(const ScoreOf<Problem> &function, float (&scores)[size], int firstQuery,
                                      int firstKey, int batch, int head, bool isWhole, const WarpgroupLane &lane,
                                      Derivatives &...derivatives) {
  const bool isInterior = isInteriorOfQueries<Problem, size>(firstQuery, firstKey, isWhole, lane);
  int row = firstKey + lane.row, column = firstQuery + lane.column;
  // Keeps the compiler from computing all indices before the function, which takes registers.
  asm volatile("" : "+r"(row), "+r"(column), "+r"(batch), "+r"(head));
  if (isInterior)
    applyScoreFunction<Problem, true, /*rowsAreKeys=*/true>(function, scores, row, column, batch, head, derivatives...);
  else
    applyScoreFunction<Problem, false, /*rowsAreKeys=*/true>(function, scores, row, column, batch, head,
                                                             derivatives...);
}

/// Like computeScores where rows are the warpgroup's 64 keys of a block whose first one is `firstKey`, and columns are
/// the queries of a tile as long. `isWhole` is false if data may keep the tile from being interior.
template <class Problem, int size>
__device__ inline TileBias<Problem>
computeScoresOfQueries(const ScoreOf<Problem> &function, float (&scores)[size], int firstQuery, int firstKey, int batch,
                       int head, bool isWhole, const TileBias<Problem> &interior, const WarpgroupLane &lane) {
  if constexpr (clipsToInterior<Problem>())
    if (isWhole) {
      clipQueries<Problem>(scores, firstQuery, firstKey, lane);
      return interior;
    }
  if constexpr (hidesBeforeClipping<Problem>) {
    int key = firstKey + lane.row, query = firstQuery + lane.column;
    // Keeps the compiler from computing all indices before the function, which takes registers.
    asm volatile("" : "+r"(key), "+r"(query), "+r"(batch), "+r"(head));
    hidePairs<Problem, /*rowsAreKeys=*/true>(function, scores, key, query, batch, head);
    clipQueries<Problem>(scores, firstQuery, firstKey, lane);
    return {};
  }
  if constexpr (!hasLinearBias<Problem>) {
    applyToQueries<Problem>(function, scores, firstQuery, firstKey, batch, head, isWhole, lane);
  } else {
    if (!clipsToInterior<Problem>() && isWhole && isInsideOfQueries<Problem, size>(firstQuery, firstKey, lane))
      return interior;
    int key = firstKey + lane.row, query = firstQuery + lane.column;
    // Keeps the compiler from computing all indices before the function, which takes registers.
    asm volatile("" : "+r"(key), "+r"(query), "+r"(batch), "+r"(head));
    applyScoreFunction<Problem, false, /*rowsAreKeys=*/true>(function, scores, key, query, batch, head);
    removeScale<Problem>(scores);
    interior.removeSteps(scores, lane);
  }
  return {};
}
