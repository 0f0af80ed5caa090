//===- tile_queue.cuh - The tiles of a block --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Part of the tile scheduler. Together the blocks of a grid of any size take each tile once.

/// A block's share of `count` tiles, which are sorted by work. The direction alternates from round to round, so that
/// all blocks get about equal work. Every thread that needs the numbers of tiles has a queue of its own, and all queues
/// of a block return the same numbers.
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

/// The tiles that a block takes when it is free, in the order of their numbers: for tiles whose work is not known
/// before. One thread of a block has the queue. `taken` counts the tiles that blocks took after their first ones; it is
/// 0 when the first block starts.
template <int count>
class SharedTileQueue {
public:
  __device__ explicit SharedTileQueue(unsigned *taken) : taken(taken) {}

  __device__ bool next(int &tile) {
    tile = isFirst ? blockIdx.x : gridDim.x + atomicAdd(taken, 1u);
    isFirst = false;
    return tile < count;
  }

private:
  unsigned *taken;
  bool isFirst = true;
};

template <int count, bool isShared>
struct SelectQueue {
  using Type = TileQueue<count>;
};
template <int count>
struct SelectQueue<count, true> {
  using Type = SharedTileQueue<count>;
};
