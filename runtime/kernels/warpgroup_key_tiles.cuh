//===- warpgroup_key_tiles.cuh - Tiles of keys and their forms --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Which tiles of keys the queries of a warpgroup see, and the work for each of them. All threads of a computing
// warpgroup call these functions together. `Tile` is a QueryTile.

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
    if (end < 0 || (readsTables && (first < 0 || last >= Problem::queries)))
      return {0, 0};
    return {!beginFirst<Problem> && firstKey > 0 ? countTiles(firstKey, keysPerTile) : 0, end / keysPerTile};
  }
};

/// Returns the number of the first tile of keys that some query of the warpgroup does not see as a whole. Requires a
/// causal mask without a score function.
template <class Tile>
__device__ inline int findFirstMasked(const Tile &tile, int warpgroup) {
  const int first = tile.first + warpgroup * rowsPerWarpgroup;
  return first > 0 ? first / Tile::keysPerTile : 0;
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

/// True if a warpgroup leaves out the tiles of keys that none of its own queries sees. Without a function, long
/// sequences have few such tiles for their length, and the loop over all tiles is faster. If data hides tiles, the bits
/// of the warpgroup decide.
template <class Problem>
constexpr bool skipsOwnTiles =
    ScoreOf<Problem>::exists ? !hidesTiles<Problem> : Problem::isCausal && Problem::queries < 16384;

/// Returns the number of a chosen tile, or that of one past the last key, which hides all pairs, if the warpgroup's
/// queries see nothing of it.
template <class Problem, class Tile>
__device__ inline int getSeenNumber(const VisitedTile &visited) {
  return visited.isSeen() ? visited.number : countTiles(Problem::keys, Tile::keysPerTile);
}

/// The tiles of keys of a QueryTile that some of a warpgroup's queries see: from `first` to `last`, at least one. A
/// warpgroup without queries has the first tile.
struct OwnTiles {
  int first, last;

  template <class Problem, class Tile>
  __device__ static OwnTiles find(const Tile &tile, const WarpgroupLane &lane) {
    if constexpr (!skipsOwnTiles<Problem>)
      return {0, tile.keyTiles - 1};
    const int firstQuery = tile.first + lane.warpgroup * rowsPerWarpgroup;
    if (firstQuery < 0)
      return {0, 0};
    const int skipped = isFarHidden<Problem> ? tile.skippedKeys / Tile::keysPerTile : 0;
    const auto visible = KeyTiles::find<Problem>(firstQuery, firstQuery + rowsPerWarpgroup, Tile::keysPerTile);
    return {isFarHidden<Problem> ? visible.first - skipped : 0, visible.end - 1 - skipped};
  }
};

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
