//===- gradient_tile.cuh - Tiles of several gradients -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler: what the number of a tile stands for. A kernel computes the gradients of several members,
// whose tiles have consecutive numbers.

/// A member's gradient has `rows` · `columns` elements, each a sum over tokens. The tokens may be in two parts, which
/// have operands of their own; otherwise the second part has none.
struct GradientSizes {
  static constexpr int mostParts = 2;
  int rows, columns, tokens[mostParts];
};

/// A tile of a member's gradient, from element (row, column) on.
struct GradientTile {
  static constexpr int rowsPerTile = 128, columnsPerTile = 256;
  int member, row, column;
  GradientSizes sizes;

  /// `firstTiles` has the first tile of each member, and their number. The tiles of `clusterBlocks` consecutive numbers
  /// lie one below the other. The next such group is to the right, so that all columns of a few rows are computed at
  /// the same time: these tiles share their left operands, and the right one stays in the second-level cache.
  template <int clusterBlocks, int size, int members>
  __device__ static GradientTile find(const unsigned (&firstTiles)[size], const GradientSizes (&sizes)[members],
                                      int number) {
    static_assert(size == members + 1);
    GradientTile tile;
    tile.member = findMember(firstTiles, number);
    tile.sizes = sizes[tile.member];
    const int ofMember = number - firstTiles[tile.member], group = ofMember / clusterBlocks;
    const int across = (tile.sizes.columns + columnsPerTile - 1) / columnsPerTile;
    tile.row = (group / across * clusterBlocks + ofMember % clusterBlocks) * rowsPerTile;
    tile.column = group % across * columnsPerTile;
    return tile;
  }
};
