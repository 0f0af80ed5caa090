//===- tile_queue.cuh - The tiles of a block --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler. Every thread that needs the numbers of tiles has a queue of its own, and all queues of a
// block return the same numbers. Together the blocks of a grid of any size take each tile once.

/// A block's share of `count` tiles, which are sorted by work. The direction alternates from round to round, so that
/// all blocks get about equal work.
template <int count>
class TileQueue {
public:
  /// Writes the number of the next tile to `tile`. Returns false after the last tile.
  __device__ bool next(int &tile) {
    tile = round * gridDim.x + (round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    ++round;
    return tile < count;
  }

private:
  int round = 0;
};
