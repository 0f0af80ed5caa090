//===- warpgroup_gradient_queries.cuh - dQ in one pass ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The work of the warpgroup that multiplies dS with the keys, and of the threads that add the result to dQ.
///
/// Each row of dS sums to zero, but for the rounding error of the output in D. dS is multiplied with the keys minus
/// their mean, so that this error is not multiplied with what keys have in common. With derivatives of a score
/// function, rows have other sums, and the mean in the workspace is zero.
template <class Block>
class GradientOfQueries {
  using Problem = typename Block::Problem;
  using Workspace = typename Block::Workspace;
  using Keys = typename Block::Keys;
  using Tile = typename Block::Tile;
  using Core = TensorCore<typename Block::Element>;
  static constexpr int barrierNumber = 1;

public:
  __device__ explicit GradientOfQueries(const Block &block) : block(block) {}

  /// Called by a warpgroup.
  __device__ void run() {
    const bool isElected = threadIdx.x % 128 == 0;
#pragma unroll 1
    for (unsigned parity = 0; block.awaitTile(parity); parity ^= 1) {
      const Tile tile(block.getTileNumber());
      centreKeys(tile);
      publishSharedWrites();
      awaitThreads<128>(barrierNumber);
      if (isElected)
        arrive(block.shared + Block::centredBarrier);
      const int steps = Tile::members * block.countQueryTiles(tile);
      block.releaseTile(isElected);
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        block.slopeRing.awaitFull();
        clearPastEnd(tile);
        if constexpr (Workspace::slabs == 2)
          sumFirstSlab();
        float result[Workspace::lastColumns / 2];
        multiply(result, Workspace::slabs - 1);
        block.slopeRing.release(isElected);
        leave(result);
      }
    }
  }

  /// Adds the contents of one stage of the sums to those in global memory, each time that it is full. Called by a warp.
  __device__ void addInTurn(int stage) {
#pragma unroll 1
    for (unsigned parity = 0; block.awaitTile(parity); parity ^= 1) {
      const Tile tile(block.getTileNumber());
      const int steps = Tile::members * block.countQueryTiles(tile);
      __syncwarp();
      block.releaseTile(threadIdx.x % 32 == 0);
      if (hidesTiles<Problem> && threadIdx.x % 32 == 0)
        addSteps(tile, steps, stage);
      else if (threadIdx.x % 32 == 0)
#pragma unroll 1
        for (int member = 0; member < Tile::members; ++member)
          addHead(tile, tile.head * Tile::members + member, stage);
      __syncwarp();
    }
  }

private:
  /// Writes the keys of the tile minus their mean. Rows past the last key become zeros.
  __device__ void centreKeys(const Tile &tile) const {
    constexpr int chunks = Workspace::columns / 8, rowsAtOnce = 128 / chunks;
    const int thread = threadIdx.x % 128, chunk = thread % chunks;
    const float *mean = block.workspace.getMean(tile.batch, tile.head);
    float means[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      means[i] = mean[8 * chunk + i];
    if (thread / chunks >= rowsAtOnce)
      return;
#pragma unroll 1
    for (int row = thread / chunks; row < Block::keysPerTile; row += rowsAtOnce) {
      Chunk words = loadSharedChunk(Keys::getChunk(block.shared, row, chunk));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        words.words[i] = tile.first + row < Problem::keys
                             ? Core::pack(Core::getFirst(words.words[i]) - means[2 * i],
                                          Core::getSecond(words.words[i]) - means[2 * i + 1])
                             : 0;
      storeSharedChunk(Keys::getChunk(block.shared + Block::centredKeys, row, chunk), words);
    }
  }

  /// Clears dS of keys past the last one: these have probabilities, which may be infinite.
  __device__ void clearPastEnd(const Tile &tile) const {
    if (Problem::keys % Block::keysPerTile == 0 || tile.first + Block::keysPerTile <= Problem::keys)
      return;
    const int row = threadIdx.x % 128;
    if (tile.first + row >= Problem::keys)
#pragma unroll
      for (int chunk = 0; chunk < Block::queriesPerTile / 8; ++chunk)
        storeSharedChunk(Block::Slopes::getChunk(block.getSlopes(), row, chunk), {0, 0, 0, 0});
    publishSharedWrites();
    awaitThreads<128>(barrierNumber);
  }

  __device__ void sumFirstSlab() {
    float result[Workspace::slabColumns / 2];
    multiply(result, 0);
    leave(result);
  }
  template <int size>
  __device__ void multiply(float (&result)[size], int slab) const {
    beginMatmuls();
    Keys::template multiplyLeftTransposed<typename Block::Slopes>(
        result, block.getSlopes(), block.shared + Block::centredKeys + slab * Keys::slabBytes);
    awaitMatmuls<0>();
    pin(result);
  }
  /// Leaves a result, in the order of registers, for the thread that adds it.
  template <int size>
  __device__ void leave(const float (&result)[size]) {
    block.sumRing.awaitFree();
    const unsigned to = block.getSums() + threadIdx.x % 128 * 16;
#pragma unroll
    for (int i = 0; i < size / 4; ++i)
      storeSharedChunk(to + 128 * 16 * i, {__float_as_uint(result[4 * i]), __float_as_uint(result[4 * i + 1]),
                                           __float_as_uint(result[4 * i + 2]), __float_as_uint(result[4 * i + 3])});
    finishWriting(block.sumRing);
  }

  /// Adds to dQ of the queries of one head.
  __device__ void addHead(const Tile &tile, int head, int stage) {
#pragma unroll 1
    for (int left = hideConstant(tile.queryTilesPerHead); left > 0; --left) {
      const int queryTile = tile.getQueryTile(left);
#pragma unroll 1
      for (int slab = 0; slab < Workspace::slabs; ++slab)
        if (block.sumRing.getStage() == stage)
          addSlab(Workspace::getTile(tile.batch, head, queryTile), slab, tile.getTurn(queryTile));
        else
          block.sumRing.advance();
    }
  }
  /// The same for a number of tiles of queries, of all heads, that the copying thread chose.
  __device__ void addSteps(const Tile &tile, int steps, int stage) {
#pragma unroll 1
    for (; steps > 0; --steps) {
#pragma unroll 1
      for (int slab = 0; slab < Workspace::slabs; ++slab)
        if (block.sumRing.getStage() == stage) {
          block.sumRing.awaitFull();
          const int queryTile = block.getStep();
          const auto seen = block.workspace.getSeenKeys(tile.batch, queryTile % Workspace::queryTiles);
          addSlab(queryTile, slab, tile.getTurnAmong(seen));
        } else {
          block.sumRing.advance();
        }
      ++block.step;
    }
  }
  /// The first block to add stores instead, so that the sums need no zeros.
  __device__ void addSlab(int tile, int slab, unsigned turn) {
    const int columns = slab == Workspace::slabs - 1 ? Workspace::lastColumns : Workspace::slabColumns;
    const int bytes = Block::queriesPerTile * columns * 4;
    block.sumRing.awaitFull();
    awaitTurn(block.workspace.getTurns(tile, slab), turn);
    if (turn == 0)
      storeFloats(block.workspace.getSums(tile, slab), block.getSums(), bytes);
    else
      addFloats(block.workspace.getSums(tile, slab), block.getSums(), bytes);
    commitStores();
    awaitStoresRead();
    block.sumRing.release(true);
    awaitStores();
    passTurn(block.workspace.getTurns(tile, slab), turn);
  }

  Block block;
};
