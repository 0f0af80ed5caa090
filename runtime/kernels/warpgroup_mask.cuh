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

  /// True if `begin` is always 0: if no existing query is too far after the first keys.
  template <class Problem>
  static constexpr bool beginFirst = ScoreOf<Problem>::lastInterior >= Problem::queries - 1;

  /// `first` is the warpgroup's first query, and tiles are counted from key `skippedKeys` on.
  template <class Problem, int keysPerTile>
  __device__ static InteriorTiles find(int first, int skippedKeys) {
    using Score = ScoreOf<Problem>;
    const int last = first + rowsPerWarpgroup - 1;
    // The first key and the end of the keys at interior distances from all queries.
    const int firstKey = last - Score::lastInterior - skippedKeys, endOfKeys = first - Score::firstInterior + 1;
    const int end = (endOfKeys < Problem::keys ? endOfKeys : Problem::keys) - skippedKeys;
    // Functions read tables at existing queries only. Linear biases and soft caps have no elements of positions.
    constexpr bool readsTables = !Score::interiorIsScore && !hasLinearBias<Problem> && !hasSoftCap<Problem>;
    if (end < 0 || (readsTables && last >= Problem::queries))
      return {0, 0};
    return {!beginFirst<Problem> && firstKey > 0 ? countTiles(firstKey, keysPerTile) : 0, end / keysPerTile};
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

/// Returns the number of the first tile of keys that some query of the warpgroup does not see as a whole. Requires a
/// causal mask without a score function.
template <class Tile>
__device__ inline int findFirstMasked(const Tile &tile, int warpgroup) {
  return (tile.first + warpgroup * rowsPerWarpgroup) / Tile::keysPerTile;
}

/// The work for a tile of keys and the queries of a warpgroup.
enum class TileForm {
  /// All pairs are visible. With a score function, they are at interior distances.
  Interior,
  /// Only distances and the ends of the sequences hide pairs, and visible ones are at interior distances.
  Clipped,
  /// The score function is computed for each pair.
  Mixed
};

/// The form of tiles outside of the interior, unless data hides pairs of them.
template <class Problem>
constexpr TileForm outerForm = clipsToInterior<Problem>() ? TileForm::Clipped : TileForm::Mixed;

/// True if the score function may be computed for each pair of a tile.
template <class Problem>
constexpr bool hasMixedTiles = !clipsToInterior<Problem>() || hidesTiles<Problem>;

/// True if a warpgroup leaves out the tiles of keys that none of its own queries sees. Functions that are computed for
/// single pairs have no registers for the numbers of these tiles.
template <class Problem>
constexpr bool skipsOwnTiles = clipsToInterior<Problem>() && !hidesTiles<Problem>;

/// Returns the number of a chosen tile, or that of one past the last key, which hides all pairs, if the warpgroup's
/// queries see nothing of it.
template <class Problem, class Tile>
__device__ inline int getSeenNumber(const VisitedTile &visited) {
  return visited.isSeen() ? visited.number : countTiles(Problem::keys, Tile::keysPerTile);
}

/// Returns the tiles of keys that are interior for all queries of the warpgroup.
template <class Problem, class Tile>
__device__ inline InteriorTiles findInterior(const Tile &tile, const WarpgroupLane &lane) {
  return InteriorTiles::find<Problem, Tile::keysPerTile>(tile.first + lane.warpgroup * rowsPerWarpgroup,
                                                         tile.skippedKeys);
}

/// Writes the number of a chosen tile of keys to `keyTile`, and returns its form.
template <class Problem, class Tile>
__device__ inline TileForm getForm(const VisitedTile &visited, const InteriorTiles &interior, int &keyTile) {
  keyTile = getSeenNumber<Problem, Tile>(visited);
  if (visited.isMixed())
    return TileForm::Mixed;
  return keyTile >= interior.begin && keyTile < interior.end ? TileForm::Interior : outerForm<Problem>;
}

/// Goes through the tiles of keys from number `keyTile` to `firstTile`, with the number in `keyTile`, and calls
/// `computeTile(form)` for each.
template <class Problem, class Tile, class ComputeTile>
__device__ inline void visitKeyTiles(const Tile &tile, const WarpgroupLane &lane, int &keyTile,
                                     const ComputeTile &computeTile, int firstTile = 0) {
  if constexpr (ScoreOf<Problem>::exists) {
    // The tiles after the interior ones, these, and those before them.
    const auto interior = findInterior<Problem>(tile, lane);
    const int end = interior.end > firstTile ? interior.end : firstTile;
    const int begin = interior.begin > firstTile ? interior.begin : firstTile;
#pragma unroll 1
    for (; keyTile >= end; --keyTile)
      computeTile(outerForm<Problem>);
#pragma unroll 1
    for (; keyTile >= begin; --keyTile)
      computeTile(TileForm::Interior);
    if constexpr (!InteriorTiles::beginFirst<Problem>)
#pragma unroll 1
      for (; keyTile >= firstTile; --keyTile)
        computeTile(outerForm<Problem>);
  } else {
    // Without a causal mask, only the last tile of keys can have columns without a key. Callers compute it themselves.
    if constexpr (Problem::isCausal)
#pragma unroll 1
      for (; keyTile >= findFirstMasked(tile, lane.warpgroup); --keyTile)
        computeTile(TileForm::Clipped);
#pragma unroll 1
    for (; keyTile >= 0; --keyTile)
      computeTile(TileForm::Interior);
  }
}

/// The same for `left` tiles that the copying thread chose. `await` waits for the next one and returns it.
template <class Problem, class Tile, class Await, class ComputeTile>
__device__ inline void visitChosenTiles(const Tile &tile, const WarpgroupLane &lane, int left, int &keyTile,
                                        const Await &await, const ComputeTile &computeTile) {
  const auto interior = findInterior<Problem>(tile, lane);
#pragma unroll 1
  for (; left > 0; --left) {
    const TileForm form = getForm<Problem, Tile>(await(), interior, keyTile);
    computeTile(form);
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
  if (Score::lastDistance < Problem::queries - 1 && firstKey < lastQuery - Score::lastDistance) {
    const int first = query - Score::lastDistance - key, firsts[2] = {first, first + 8};
    hideBefore(scores, firsts);
  }
}

/// Returns the bias of the interior for the keys of a tile.
template <class Problem, class Tile>
__device__ inline TileBias<Problem> findBias(const ScoreOf<Problem> &function, const Tile &tile, int keyTile,
                                             const WarpgroupLane &lane) {
  if constexpr (!hasLinearBias<Problem>)
    return {};
  int query = tile.first + lane.row, key = tile.getFirstKey(keyTile) + (multipliesSteps<Problem> ? 0 : lane.column);
  // Keeps the compiler from computing parts of all biases before the loop over tiles, which takes registers.
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

/// The tiles of keys of a QueryTile that some of a warpgroup's queries see: from `first` to `last`, at least one.
struct OwnTiles {
  int first, last;

  template <class Problem, class Tile>
  __device__ static OwnTiles find(const Tile &tile, const WarpgroupLane &lane) {
    if constexpr (!skipsOwnTiles<Problem>)
      return {0, tile.keyTiles - 1};
    const int firstQuery = tile.first + lane.warpgroup * rowsPerWarpgroup,
              skipped = tile.skippedKeys / Tile::keysPerTile;
    const auto visible = KeyTiles::find<Problem>(firstQuery, firstQuery + rowsPerWarpgroup, Tile::keysPerTile);
    return {isFarHidden<Problem> ? visible.first - skipped : 0, visible.end - 1 - skipped};
  }
};

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
  if (Score::lastDistance < Problem::queries - 1 && firstQuery + 2 * size - 1 > firstOwn + Score::lastDistance) {
    const int last = distance + Score::lastDistance, lasts[2] = {last, last + 8};
    hideAfter(scores, lasts);
  }
}

/// Like computeScores where rows are the warpgroup's 64 keys of a block whose first one is `firstKey`, and columns are
/// the queries of a tile as long. `isWhole` is false if data may keep the tile from being interior.
template <class Problem, int size>
__device__ inline TileBias<Problem>
computeScoresOfQueries(const ScoreOf<Problem> &function, float (&scores)[size], int firstQuery, int firstKey, int batch,
                       int head, bool isWhole, const TileBias<Problem> &interior, const WarpgroupLane &lane) {
  if constexpr (clipsToInterior<Problem>())
    if (isWhole) {
      interior.addSteps(scores);
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
    if (!clipsToInterior<Problem>() && isWhole && isInsideOfQueries<Problem, size>(firstQuery, firstKey, lane)) {
      interior.addSteps(scores);
      return interior;
    }
    int key = firstKey + lane.row, query = firstQuery + lane.column;
    // Keeps the compiler from computing all indices before the function, which takes registers.
    asm volatile("" : "+r"(key), "+r"(query), "+r"(batch), "+r"(head));
    applyScoreFunction<Problem, false, /*rowsAreKeys=*/true>(function, scores, key, query, batch, head);
    removeScale<Problem>(scores);
  }
  return {};
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
