//===- warpgroup_key_order.cuh - The order of tiles of keys -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Blocks that add to the same dQ add in turn, so that every sum has one order. A block waits only for tiles of keys
// with smaller numbers. Blocks take tiles in the order of their numbers, so each of those is finished or runs, and the
// one with the least number waits for none: no order of blocks can make all of them wait.

/// A tile of keys of one head, and the tiles of queries that see some of them, in the order in which a block visits
/// them. `headsPerGroup` heads are computed at the same time, as many as the second-level cache has room for.
///
/// With a causal mask, tiles with small numbers of keys have the most work. In all groups but the last, the tile with
/// the last keys comes first and visits queries forwards: if all blocks start at once, a block adds to each dQ two
/// tiles after the block before it, and none waits. The same holds for a window, whose tiles have equal work. In the
/// last group, the tiles with the most work come first, so that all blocks end at about the same time; there queries
/// are visited backwards.
template <class Problem, int queriesPerTile, int keysPerTile, int headsPerGroup>
class KeyTile {
  using Visible = VisiblePairs<Problem>;
  static constexpr int heads = Problem::batches * Problem::keyHeads;
  static constexpr int groups = countTiles(heads, headsPerGroup);

public:
  static constexpr int keyTiles = countTiles(Problem::keys, keysPerTile);
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int count = heads * keyTiles;
  /// Query heads that share a key head.
  static constexpr int members = Problem::queryHeads / Problem::keyHeads;

  /// The first key, and its head.
  int first, head, batch;
  /// The number of tiles of queries of each query head that see some of the keys.
  int queryTilesPerHead;
  /// True if the block visits the last of them first.
  bool isBackwards;

  __device__ explicit KeyTile(int number) {
    const int group = number / (headsPerGroup * keyTiles), ofGroup = number % (headsPerGroup * keyTiles);
    const bool isLast = group == groups - 1;
    const int size = isLast ? heads - group * headsPerGroup : headsPerGroup;
    const int index = ofGroup / size, headOfAll = group * headsPerGroup + ofGroup % size;
    isBackwards = groups > 1 && isLast;
    keyTile = isBackwards ? index : keyTiles - 1 - index;
    first = keyTile * keysPerTile;
    head = headOfAll % Problem::keyHeads, batch = headOfAll / Problem::keyHeads;
    skipped = Visible::getFirstQuery(first) / queriesPerTile;
    const int end = countTiles(Visible::getEndQuery(first + keysPerTile), queriesPerTile);
    queryTilesPerHead = skipped < end ? end - skipped : 0;
  }

  /// Returns the tile of queries that a block visits when `left` tiles of a head are left, from queryTilesPerHead to 1.
  __device__ int getQueryTile(int left) const {
    return skipped + getDistance(left, isBackwards ? 1 : queryTilesPerHead);
  }
  /// Returns the first tile of queries that sees some of the keys.
  __device__ int getFirstQueryTile() const { return skipped; }
  /// Returns by how many tiles it is after the first one that sees some of the keys. `leftAtFirst` tiles are left when
  /// the block visits this one.
  __device__ static int getDistance(int left, int leftAtFirst) {
    return left > leftAtFirst ? left - leftAtFirst : leftAtFirst - left;
  }

  /// Returns how many tiles of keys add to the dQ of these queries before this one does, if data hides no tile.
  __device__ int getTurn(int queryTile) const {
    const int firstQuery = queryTile * queriesPerTile;
    if (isBackwards)
      return keyTile - Visible::getFirstKey(firstQuery) / keysPerTile;
    return (Visible::getEndKey(firstQuery + queriesPerTile) - 1) / keysPerTile - keyTile;
  }
  /// The same if data hides tiles. `seen` are the tiles of keys that these queries see, this one among them.
  template <class SeenTiles>
  __device__ int getTurnAmong(const SeenTiles &seen) const {
    const int before = seen.countBefore(keyTile);
    return isBackwards ? before : seen.count() - before - 1;
  }

  /// The number of this tile of keys among those of its head.
  int keyTile;

private:
  int skipped;
};
