//===- query_tile.cuh - Tiles of queries and the keys they see --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler: what the number of a tile stands for.

/// A tile of queries of one head, and the number of tiles of keys that some of them see.
///
/// `headsPerGroup` heads are computed at the same time, as many as the second-level cache has room for their keys and
/// values. The last group begins with its longest tiles, so that short ones fill the end of the grid. The directions of
/// the groups alternate: the work of tiles then changes little from one number to the next, and the rounds of a
/// TileQueue give all blocks about equal work.
///
/// By default, tiles have more work the later they are, or the earlier if seesMostLast is false. If data hides tiles,
/// this does not hold, and the caller ranks them (RankTiles).
///
/// If `queriesPerTile` does not divide the number of queries, some rows have no query. By default, they are in the last
/// tile. With `lastIsFull`, they are in the first tile, in multiples of a warpgroup's rows, and `first` is then
/// negative. The last tile, which has the most keys if the mask is causal, keeps fewer than those of a warpgroup.
template <class Problem, int queriesPerTile, int numKeysPerTile,
          int headsPerGroup = Problem::batches * Problem::queryHeads, bool lastIsFull = false>
struct QueryTile {
  static constexpr int keysPerTile = numKeysPerTile;
  static constexpr int perHead = countTiles(Problem::queries, queriesPerTile);
  static constexpr int heads = Problem::batches * Problem::queryHeads, groups = countTiles(heads, headsPerGroup);
  /// The rows of the first tile that come before the first query: a multiple of those of a warpgroup.
  static constexpr int missing =
      lastIsFull ? (perHead * queriesPerTile - Problem::queries) / rowsPerWarpgroup * rowsPerWarpgroup : 0;
  static constexpr int count = heads * perHead;
  int first, head, keyHead, batch, keyTiles;
  /// With a score function, the keys before the first tile.
  int skippedKeys;

  __device__ explicit QueryTile(int number)
      : QueryTile(number, [](int, int rank) { return seesMostLast<Problem>() ? perHead - 1 - rank : rank; }) {}

  /// `getRanked` returns the tile of a batch with a rank: rank 0 has the most work.
  template <class GetRanked>
  __device__ QueryTile(int number, GetRanked getRanked) {
    // Divisions of unsigned numbers by constants are the fastest ones.
    constexpr unsigned lastSize = heads - (groups - 1) * headsPerGroup;
    const unsigned group = static_cast<unsigned>(number) / (headsPerGroup * perHead);
    const unsigned ofGroup = number - group * (headsPerGroup * perHead);
    const bool isSmaller = lastSize != headsPerGroup && group == groups - 1;
    const int index = isSmaller ? ofGroup / lastSize : ofGroup / headsPerGroup;
    const int headOfAll = group * headsPerGroup + ofGroup - index * (isSmaller ? lastSize : headsPerGroup);
    const bool beginsWithMost = (groups - 1 - group) % 2 == 0;
    head = headOfAll % Problem::queryHeads, batch = headOfAll / Problem::queryHeads;
    first = getRanked(batch, beginsWithMost ? index : perHead - 1 - index) * queriesPerTile - missing;
    keyHead = head / (Problem::queryHeads / Problem::keyHeads);
    const int end = first + queriesPerTile;
    if constexpr (ScoreOf<Problem>::exists) {
      const auto visible = KeyTiles::find<Problem>(first, end, keysPerTile);
      const int skipped = isFarHidden<Problem> ? visible.first : 0;
      keyTiles = visible.end - skipped;
      skippedKeys = skipped * keysPerTile;
    } else {
      keyTiles = countTiles(Problem::isCausal && end < Problem::keys ? end : Problem::keys, keysPerTile);
    }
  }

  /// Returns the first key of a tile of keys.
  __device__ int getFirstKey(int keyTile) const {
    if constexpr (ScoreOf<Problem>::exists)
      return skippedKeys + keyTile * keysPerTile;
    else
      return keyTile * keysPerTile;
  }
};
