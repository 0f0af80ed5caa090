//===- query_tile.cuh - Tiles of queries and the keys they see --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler: what the number of a tile stands for. Tiles are numbered by work, the longest first.

/// A tile of queries of one head, and the number of tiles of keys that some of them see.
template <class Problem, int queriesPerTile, int numKeysPerTile>
struct QueryTile {
  static constexpr int keysPerTile = numKeysPerTile;
  static constexpr int perHead = countTiles(Problem::queries, queriesPerTile);
  static constexpr int count = Problem::batches * Problem::queryHeads * perHead;
  int first, head, keyHead, batch, keyTiles;
  /// With a score function, the keys before the first tile.
  int skippedKeys;

  /// Tiles are numbered by work, the longest first.
  __device__ explicit QueryTile(int number) {
    const auto tile = HeadTile<perHead, queriesPerTile, Problem::queryHeads, seesMostLast<Problem>()>::fromBlock(
        number, Problem::batches);
    first = tile.first, head = tile.head, batch = tile.batch;
    keyHead = head / (Problem::queryHeads / Problem::keyHeads);
    const int end = first + queriesPerTile;
    if constexpr (ScoreOf<Problem>::exists) {
      const auto visible = KeyTiles::find<Problem>(first, end, keysPerTile);
      keyTiles = visible.end - visible.first;
      skippedKeys = visible.first * keysPerTile;
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
