//===- warpgroup_attention_keys.cuh - dK and dV on sm_90a -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// dK and dV. A block computes `warpgroups` · 64 keys of a key head at a time, summed over all query heads that share
/// it. Rows of the scores are keys here. If `overlapsTiles`, the matmul of a tile's dS with its queries, and the scores
/// of the next tile, run while dS of the next tile is computed; this takes more registers. `paddedQueries` is the
/// number of statistics of a head.
template <class Problem, class Wgmma, int warpgroups, int queriesPerTile, int stages, bool overlapsTiles,
          int paddedQueries>
class WarpgroupAttentionKeys {
  using Element = typename Wgmma::Element;
  static constexpr int keysPerTile = rowsPerWarpgroup * warpgroups;
  using Queries = SlabTile<Wgmma, Problem::headDim, queriesPerTile>;
  using Keys = SlabTile<Wgmma, Problem::headDim, keysPerTile>;
  using Tile = KeyGradientTile<Problem, keysPerTile, queriesPerTile>;
  using Visited = VisitedQueryTiles<Problem, Tile, keysPerTile, queriesPerTile>;
  using Score = ScoreOf<Problem>;
  static constexpr int statisticsBytes = queriesPerTile * static_cast<int>(sizeof(QueryStatistics));
  static constexpr float scale = scaleOfScores<Problem>;
  static constexpr int copyRegisters = warpgroups == 2 ? 24 : 32;
  static_assert(!overlapsTiles || !Score::returnsDerivative, "derivatives take the registers of the next tile");
  static_assert(paddedQueries % queriesPerTile == 0);

  // Offsets in shared memory.
  static constexpr int values = Keys::bytes, queryTiles = values + Keys::bytes;
  static constexpr int gradientTiles = queryTiles + stages * Queries::bytes;
  static constexpr int statisticsTiles = gradientTiles + stages * Queries::bytes;
  static constexpr int barriers = statisticsTiles + stages * statisticsBytes;
  /// If data hides tiles: one VisitedTile per stage of queries.
  static constexpr int visitedTiles = barriers + Ring<1>::bytes + Ring<stages>::bytes;

public:
  static constexpr int threads = 128 * (warpgroups + 1), tiles = Tile::count;
  static constexpr int sharedBytes = visitedTiles + (hidesTiles<Problem> ? 4 * stages : 0) + slabSlack;

  /// `keyGradientMap` and `valueGradientMap` are null if these results are not wanted. `bits` are those of
  /// Visited::Mask if data hides tiles.
  __device__ static void run(const TensorMap *queryMap, const TensorMap *keyMap, const TensorMap *valueMap,
                             const TensorMap *outputGradientMap, const TensorMap *keyGradientMap,
                             const TensorMap *valueGradientMap, const QueryStatistics *statistics,
                             const Score &score = {}, const TileBits *bits = nullptr) {
    WarpgroupAttentionKeys attention;
    if (threadIdx.x == 0) {
      attention.keyRing.init(1, warpgroups);
      attention.queryRing.init(1, warpgroups);
      publishBarriers();
    }
    __syncthreads();
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      moveRegisters<warpgroups, copyRegisters>(0);
      if (threadIdx.x == 0)
        attention.load(*queryMap, *keyMap, *valueMap, *outputGradientMap, statistics, bits);
    } else {
      moveRegisters<warpgroups, copyRegisters>(1);
      attention.compute(WarpgroupLane(warpgroup - 1), keyGradientMap, valueGradientMap, score, bits);
    }
  }

private:
  __device__ WarpgroupAttentionKeys()
      : shared(getSlabMemory()), keyRing(shared + barriers), queryRing(shared + barriers + Ring<1>::bytes) {}

  __device__ void load(const TensorMap &queryMap, const TensorMap &keyMap, const TensorMap &valueMap,
                       const TensorMap &outputGradientMap, const QueryStatistics *statistics, const TileBits *bits) {
    prefetchMap(queryMap);
    prefetchMap(keyMap);
    prefetchMap(valueMap);
    prefetchMap(outputGradientMap);
    TileQueue<Tile::count> queue;
#pragma unroll 1
    for (int number; queue.next(number);) {
      const Tile tile(number);
      const unsigned ofKeys = keyRing.startFilling(2 * Keys::bytes);
      Keys::load(shared, keyMap, ofKeys, tile.first, tile.head, tile.batch);
      Keys::load(shared + values, valueMap, ofKeys, tile.first, tile.head, tile.batch);
      keyRing.advance();
#pragma unroll 1
      for (int member = 0; member < Tile::group; ++member) {
        const int head = tile.head * Tile::group + member;
        const QueryStatistics *ofHead =
            statistics + (static_cast<long long>(tile.batch) * Problem::queryHeads + head) * paddedQueries;
        Visited visited(bits, tile);
        VisitedTile next;
#pragma unroll 1
        while (visited.take(next)) {
          const int i = next.number;
          if constexpr (hidesTiles<Problem>) {
            queryRing.awaitFree();
            next.store(getVisitedTile());
          }
          const unsigned barrier = queryRing.startFilling(2 * Queries::bytes + statisticsBytes);
          Queries::load(getQueries(), queryMap, barrier, i * queriesPerTile, head, tile.batch);
          Queries::load(getGradients(), outputGradientMap, barrier, i * queriesPerTile, head, tile.batch);
          loadBytes(getStatistics(), ofHead + i * queriesPerTile, statisticsBytes, barrier);
          queryRing.advance();
        }
      }
    }
  }

  __device__ void compute(const WarpgroupLane &lane, const TensorMap *keyGradientMap, const TensorMap *valueGradientMap,
                          const Score &score, const TileBits *bits) {
    const unsigned own = shared + lane.warpgroup * rowsPerWarpgroup * 128;
    TileQueue<Tile::count> queue;
#pragma unroll 1
    for (int number; queue.next(number);) {
      Tile tile(number);
      tile.perHead = Visited(bits, tile).count();
      clear(keyResult);
      clear(valueResult);
      keyRing.awaitFull();

      // `queryRing` is at the tile whose scores are computed, `behind` at the one whose dS is multiplied.
      Ring<stages> behind = queryRing;
      auto start = [&] {
        queryRing.awaitFull();
        beginMatmuls();
        Queries::template multiplyTransposed<Keys>(scores, own, getQueries());
      };
      auto startSlopes = [&] {
        beginMatmuls();
        Queries::template multiplyTransposed<Keys>(slopes, own + values, getGradients());
      };
      auto startSum = [&] {
        packLeft<Element>(left, slopes);
        beginMatmuls();
        Queries::multiply(keyResult, left, shared + queryTiles + behind.getStage() * Queries::bytes);
      };
      auto finishSum = [&] {
        pin(keyResult);
        behind.release(lane.isElected);
      };
      // Computes P, then dS. dP runs beside the exponentials, unless derivatives take its registers.
      auto computeTile = [&](int step) {
        if constexpr (Score::returnsDerivative) {
          awaitMatmuls<0>();
          exponentiate(tile, step, lane, score);
          startSlopes();
          awaitMatmuls<0>();
        } else {
          exponentiate(tile, step, lane, score);
          awaitMatmuls<1>();
        }
      };
      const int steps = Tile::group * tile.perHead;
      if (steps > 0) {
        start();
        if constexpr (!Score::returnsDerivative) {
          startSlopes();
          awaitMatmuls<1>();
        }
        computeTile(0);
        differentiate(lane);
      }
#pragma unroll 1
      for (int step = 1; step < steps; ++step) {
        if constexpr (overlapsTiles) {
          start();
          startSum();
          startSlopes();
          awaitMatmuls<2>();
        } else {
          startSum();
          awaitMatmuls<0>();
          finishSum();
          start();
          if constexpr (!Score::returnsDerivative) {
            startSlopes();
            awaitMatmuls<1>();
          }
        }
        computeTile(step);
        if constexpr (overlapsTiles)
          finishSum();
        differentiate(lane);
      }
      if (steps > 0) {
        startSum();
        awaitMatmuls<0>();
        finishSum();
      }
      storeKeyGradients<Keys, values>(keyGradientMap, valueGradientMap, own, keyResult, valueResult, Problem::scale,
                                      tile, lane);
      keyRing.release(lane.isElected);
    }
  }

  /// Replaces the scores of a step's tile by probabilities, and starts to add their matmul with dO to dV.
  __device__ void exponentiate(const Tile &tile, int step, const WarpgroupLane &lane, const Score &score) {
    pin(scores);
    const VisitedTile visited = getVisited(tile, step);
    const int firstQuery = visited.number * queriesPerTile;
    if constexpr (Score::returnsDerivative) {
      float derivatives[queriesPerTile / 2];
      applyToQueries<Problem>(score, scores, firstQuery, tile.first, tile.batch, tile.getQueryHead(step),
                              visited.isWhole(), lane, derivatives);
      exponentiateColumns(scores, scale, getStatistics(), lane);
      startValues();
      // The factors of dP − D in dS.
#pragma unroll
      for (int i = 0; i < queriesPerTile / 2; ++i)
        scores[i] *= derivatives[i];
    } else {
      if constexpr (Score::exists)
        applyToQueries<Problem>(score, scores, firstQuery, tile.first, tile.batch, tile.getQueryHead(step),
                                visited.isWhole(), lane);
      else if constexpr (Problem::isCausal)
        maskQueries(scores, tile, visited.number, lane);
      exponentiateColumns(scores, scale, getStatistics(), lane);
      startValues();
    }
  }
  __device__ void startValues() {
    packLeft<Element>(left, scores);
    beginMatmuls();
    Queries::multiply(valueResult, left, getGradients());
  }
  /// Replaces dP by dS, awaits dV, and goes to the next tile.
  __device__ void differentiate(const WarpgroupLane &lane) {
    pin(slopes);
    differentiateColumns(slopes, scores, getStatistics(), lane);
    awaitMatmuls<0>();
    pin(valueResult);
    queryRing.advance();
  }

  /// Returns the tile of queries in a step, at which `queryRing` is.
  __device__ VisitedTile getVisited(const Tile &tile, int step) const {
    if constexpr (hidesTiles<Problem>)
      return VisitedTile::load(getVisitedTile());
    else
      return {tile.getQueryTile(step), 1, 1};
  }
  __device__ unsigned getVisitedTile() const { return shared + visitedTiles + queryRing.getStage() * 4; }
  __device__ unsigned getQueries() const { return shared + queryTiles + queryRing.getStage() * Queries::bytes; }
  __device__ unsigned getGradients() const { return shared + gradientTiles + queryRing.getStage() * Queries::bytes; }
  __device__ unsigned getStatistics() const {
    return shared + statisticsTiles + queryRing.getStage() * statisticsBytes;
  }

  const unsigned shared;
  Ring<1> keyRing;
  Ring<stages> queryRing;
  // Per computing thread: parts of two rows.
  float scores[queriesPerTile / 2], slopes[queriesPerTile / 2];
  float keyResult[Keys::columns / 2], valueResult[Keys::columns / 2];
  unsigned left[queriesPerTile / 4];
};
