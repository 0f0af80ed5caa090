//===- warpgroup_gradient_sums.cuh - dQ, dK and dV in one pass --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The gradient of attention in one pass over the scores. A block goes through the queries that see a tile of 128 keys.
/// The first of its four warpgroups copies, two compute dK and dV, and the last one computes dQ of 64 queries. Threads
/// of the first one add dQ to the sums in global memory, in turn with other blocks.
template <class Problem, class Wgmma, int headsPerGroup, int queryStages, int slopeStages, int sumStages, bool overlaps>
class WarpgroupGradientSums {
  using Block = GradientBlock<Problem, Wgmma, headsPerGroup, queryStages, slopeStages, sumStages>;
  using Tile = typename Block::Tile;
  using Workspace = typename Block::Workspace;
  using Score = ScoreOf<Problem>;
  /// Registers per thread of the warpgroup that copies, those for dK and dV, and the one for dQ: together 4 · 128.
  static constexpr int copyRegisters = 32, keyRegisters = 208, queryRegisters = 64;

public:
  static constexpr int threads = 512, tiles = Tile::count;
  static constexpr int sharedBytes = Block::sharedBytes;
  static constexpr long long workspaceBytes = Workspace::bytes;

  /// `keyGradientMap` and `valueGradientMap` are null if these results are not wanted.
  __device__ static void run(const TensorMap *queryMap, const TensorMap *keyMap, const TensorMap *valueMap,
                             const TensorMap *outputGradientMap, const TensorMap *keyGradientMap,
                             const TensorMap *valueGradientMap, unsigned char *memory, const Score &score = {}) {
    Block block(memory);
    if (threadIdx.x == 0)
      block.initBarriers();
    __syncthreads();
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      lowerRegisters<copyRegisters>();
      const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
      if (threadIdx.x == 0)
        load(block, *queryMap, *keyMap, *valueMap, *outputGradientMap);
      else if (warp > 0 && warp <= Block::adders)
        GradientOfQueries<Block>(block).addInTurn(warp - 1);
    } else if (warpgroup <= Block::warpgroups) {
      raiseRegisters<keyRegisters>();
      GradientOfKeys<Block, overlaps>(block, warpgroup - 1, score).run(keyGradientMap, valueGradientMap);
    } else {
      lowerRegisters<queryRegisters>();
      GradientOfQueries<Block>(block).run();
    }
  }

private:
  /// Takes tiles of keys, and copies them and the queries that see them.
  __device__ static void load(Block &block, const TensorMap &queryMap, const TensorMap &keyMap,
                              const TensorMap &valueMap, const TensorMap &outputGradientMap) {
    prefetchMap(queryMap);
    prefetchMap(keyMap);
    prefetchMap(valueMap);
    prefetchMap(outputGradientMap);
#pragma unroll 1
    for (unsigned parity = 0;; parity ^= 1) {
      const int number = atomicAdd(block.workspace.getNextTile(), 1u);
      const unsigned barrier = block.shared + Block::fullBarrier;
      awaitPhase(block.shared + Block::freeBarrier, parity ^ 1);
      const Tile tile(number);
      using Order = QueryTilesInOrder<Problem, Tile>;
      block.writeTile(number, parity, tile, number < Tile::count ? Order(block.workspace, tile).count() : 0);
      if (number >= Tile::count) {
        arrive(barrier);
        return;
      }
      using Keys = typename Block::Keys;
      arriveAnnouncing(barrier, 2 * Keys::bytes);
      Keys::load(block.shared, keyMap, barrier, tile.first, tile.head, tile.batch);
      Keys::load(block.shared + Block::values, valueMap, barrier, tile.first, tile.head, tile.batch);
#pragma unroll 1
      for (int member = 0; member < Tile::members; ++member) {
        Order order(block.workspace, tile);
        VisitedTile next;
#pragma unroll 1
        while (order.take(next))
          loadQueries(block, queryMap, outputGradientMap, next, tile.head * Tile::members + member, tile.batch);
      }
    }
  }
  __device__ static void loadQueries(Block &block, const TensorMap &queryMap, const TensorMap &outputGradientMap,
                                     VisitedTile queryTile, int head, int batch) {
    using Queries = typename Block::Queries;
    const int first = queryTile.number * Block::queriesPerTile;
    const int number = Workspace::getTile(batch, head, queryTile.number);
    block.writeQueryTile(queryTile, batch * Problem::queryHeads + head);
    if constexpr (hidesTiles<Problem>)
      block.writeStep(number);
    const unsigned barrier = block.queryRing.startFilling(2 * Queries::bytes + Block::statisticsBytes);
    Queries::load(block.getQueries(), queryMap, barrier, first, head, batch);
    Queries::load(block.getGradients(), outputGradientMap, barrier, first, head, batch);
    loadBytes(block.getStatistics(), block.workspace.getStatistics(number), Block::statisticsBytes, barrier);
    block.queryRing.advance();
  }
};
