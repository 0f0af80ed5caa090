//===- key_gradient_tile.cuh - Tiles of keys in two passes ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler of dK and dV in two passes: the meaning of a tile's number. Tiles are numbered by work,
// the longest first.

/// A tile of keys of one key head, and the tiles of queries of each query head that see some of them.
template <class Problem, int keysPerTile, int queriesPerTile>
struct KeyGradientTile {
  static constexpr int tilesPerHead = countTiles(Problem::keys, keysPerTile);
  static constexpr int queryTilesPerHead = countTiles(Problem::queries, queriesPerTile);
  static constexpr int count = Problem::batches * Problem::keyHeads * tilesPerHead;
  /// Query heads that share the key head.
  static constexpr int group = Problem::queryHeads / Problem::keyHeads;
  /// The first key, its head, the tiles of queries before the first that sees some of the keys, and the number of those
  /// that see some per query head.
  int first, head, batch, skipped, perHead;

  __device__ explicit KeyGradientTile(int number) {
    const auto tile =
        HeadTile<tilesPerHead, keysPerTile, Problem::keyHeads, false>::fromBlock(number, Problem::batches);
    first = tile.first, head = tile.head, batch = tile.batch;
    using Visible = VisiblePairs<Problem>;
    skipped = Visible::getFirstQuery(first) / queriesPerTile;
    const int end = countTiles(Visible::getEndQuery(first + keysPerTile), queriesPerTile);
    perHead = skipped < end ? end - skipped : 0;
  }

  /// Returns the number of the tile of queries in a step. Steps go through the heads of the group.
  __device__ int getQueryTile(int step) const { return skipped + (group == 1 ? step : step % perHead); }
  /// Returns the query head in a step.
  __device__ int getQueryHead(int step) const { return group == 1 ? head : head * group + step / perHead; }
};
