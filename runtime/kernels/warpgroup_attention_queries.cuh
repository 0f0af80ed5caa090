//===- warpgroup_attention_queries.cuh - dQ of attention on sm_90a -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// dQ. A block computes `warpgroups` · 64 queries of a head at a time, and goes through the tiles of keys from the last
/// to the first. The matmul of a tile's dS with its keys, and the scores of the next tile, run while dS of the next
/// tile is computed. For the corrections of D and of dQ see AttentionBackwardQueries.
template <class Problem, class Wgmma, int warpgroups, int keysPerTile, int keyStages, int valueStages>
class WarpgroupAttentionQueries {
  using Element = typename Wgmma::Element;
  static constexpr int queriesPerTile = rowsPerWarpgroup * warpgroups;
  using Queries = SlabTile<Wgmma, Problem::headDim, queriesPerTile>;
  using Keys = SlabTile<Wgmma, Problem::headDim, keysPerTile>;
  using Tile = QueryTile<Problem, queriesPerTile, keysPerTile>;
  using Visited = VisitedKeyTiles<Problem, Tile, queriesPerTile>;
  using Mean = SampledMean<Element, Keys, Problem::headDim>;
  using Score = ScoreOf<Problem>;

  static constexpr float scale = scaleOfScores<Problem>;
  /// Larger tiles leave registers for the bits of hidden tiles.
  static constexpr int copyRegisters = warpgroups > 2 ? 32 : hidesTiles<Problem> &&keysPerTile > 64 ? 48 : 40;
  static constexpr int averagingWarps = 3;

  // Offsets in shared memory.
  static constexpr int gradients = Queries::bytes, keyTiles = gradients + Queries::bytes;
  static constexpr int valueTiles = keyTiles + keyStages * Keys::bytes;
  static constexpr int meanOfKeys = valueTiles + valueStages * Keys::bytes, barriers = meanOfKeys + Mean::bytes;
  /// If data hides tiles: one VisitedTile per stage of keys.
  static constexpr int visitedTiles = barriers + 2 * Ring<1>::bytes + Ring<keyStages>::bytes + Ring<valueStages>::bytes;

public:
  static constexpr int threads = 128 * (warpgroups + 1), tiles = Tile::count;
  /// Queries for which a head has statistics. Those past the last query have an infinite sum, so that their
  /// probabilities are zero.
  static constexpr int paddedQueries = Tile::perHead * queriesPerTile;
  static constexpr int sharedBytes = visitedTiles + (hidesTiles<Problem> ? 4 * keyStages : 0) + slabSlack;

  /// `statistics` receives [batches, heads, paddedQueries]. `bits` are those of Visited::Mask if data hides tiles.
  /// `queryGradientMap` is null if this result is not wanted.
  __device__ static void run(const TensorMap *queryMap, const TensorMap *keyMap, const TensorMap *valueMap,
                             const TensorMap *outputGradientMap, const TensorMap *queryGradientMap,
                             const Element *output, const Element *outputGradient, const float *logSumExp,
                             QueryStatistics *statistics, const Score &score = {}, const TileBits *bits = nullptr) {
    WarpgroupAttentionQueries attention;
    if (threadIdx.x == 0) {
      attention.queryRing.init(1, warpgroups);
      attention.meanRing.init(1, warpgroups);
      attention.keyRing.init(1, warpgroups + averagingWarps);
      attention.valueRing.init(1, warpgroups);
      publishBarriers();
    }
    __syncthreads();
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      moveRegisters<warpgroups, copyRegisters>(0);
      if (threadIdx.x >= 32)
        attention.average(bits);
      else if (threadIdx.x == 0)
        attention.load(*queryMap, *keyMap, *valueMap, *outputGradientMap, bits);
    } else {
      moveRegisters<warpgroups, copyRegisters>(1);
      attention.compute(WarpgroupLane(warpgroup - 1), queryGradientMap, output, outputGradient, logSumExp, statistics,
                        score, bits);
    }
  }

private:
  __device__ WarpgroupAttentionQueries()
      : shared(getSlabMemory()), queryRing(shared + barriers), meanRing(shared + barriers + Ring<1>::bytes),
        keyRing(shared + barriers + 2 * Ring<1>::bytes),
        valueRing(shared + barriers + 2 * Ring<1>::bytes + Ring<keyStages>::bytes) {}

  __device__ void load(const TensorMap &queryMap, const TensorMap &keyMap, const TensorMap &valueMap,
                       const TensorMap &outputGradientMap, const TileBits *bits) {
    prefetchMap(queryMap);
    prefetchMap(keyMap);
    prefetchMap(valueMap);
    prefetchMap(outputGradientMap);
    TileQueue<Tile::count> queue;
#pragma unroll 1
    for (int number; queue.next(number);) {
      const Tile tile(number);
      const unsigned barrier = queryRing.startFilling(2 * Queries::bytes);
      Queries::load(shared, queryMap, barrier, tile.first, tile.head, tile.batch);
      Queries::load(shared + gradients, outputGradientMap, barrier, tile.first, tile.head, tile.batch);
      queryRing.advance();
      Visited visited(bits, tile);
#pragma unroll 1
      for (int left = visited.count() - 1; left >= 0; --left) {
        const VisitedTile next = visited.next(left);
        const int firstKey = tile.getFirstKey(next.number);
        if constexpr (hidesTiles<Problem>) {
          keyRing.awaitFree();
          next.store(getVisitedTile(keyRing));
        }
        const unsigned ofKeys = keyRing.startFilling(Keys::bytes);
        Keys::load(getKeys(), keyMap, ofKeys, firstKey, tile.keyHead, tile.batch);
        keyRing.advance();
        const unsigned ofValues = valueRing.startFilling(Keys::bytes);
        Keys::load(getValues(), valueMap, ofValues, firstKey, tile.keyHead, tile.batch);
        valueRing.advance();
      }
    }
  }

  __device__ void average(const TileBits *bits) {
    Mean mean;
    TileQueue<Tile::count> queue;
#pragma unroll 1
    for (int number; queue.next(number);) {
      const Tile tile(number);
      Visited visited(bits, tile);
      const int count = visited.count();
      const int keys = visited.countKeys();
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        keyRing.awaitFull();
        mean.add(getKeys());
        __syncwarp();
        keyRing.release(threadIdx.x % 32 == 0);
      }
      mean.write(shared + meanOfKeys, count, keys, meanRing);
    }
  }

  __device__ void compute(const WarpgroupLane &lane, const TensorMap *queryGradientMap, const Element *output,
                          const Element *outputGradient, const float *logSumExp, QueryStatistics *statistics,
                          const Score &score, const TileBits *bits) {
    const unsigned own = shared + lane.warpgroup * rowsPerWarpgroup * 128;
    TileQueue<Tile::count> queue;
#pragma unroll 1
    for (int number; queue.next(number);) {
      const Tile tile(number);
#pragma unroll
      for (int row = 0; row < 2; ++row)
        readRow(row, tile, lane, output, outputGradient, logSumExp);
      clear(result);
      queryRing.awaitFull();

      // The keys of the scores, and the keys that dS is multiplied with.
      Ring<keyStages> &keysOfSum = keyRing;
      Ring<keyStages> keysOfScores = keyRing;
      auto startScores = [&] {
        keysOfScores.awaitFull();
        beginMatmuls();
        Keys::template multiplyTransposed<Queries>(scores, own,
                                                   shared + keyTiles + keysOfScores.getStage() * Keys::bytes);
        keysOfScores.advance();
      };
      auto startSlopes = [&] {
        valueRing.awaitFull();
        beginMatmuls();
        Keys::template multiplyTransposed<Queries>(slopes, own + gradients, getValues());
      };
      auto startSum = [&] {
        packLeft<Element>(left, slopes);
        beginMatmuls();
        Keys::multiply(result, left, getKeys());
      };

      auto await = [&] {
        keysOfScores.awaitFull();
        return VisitedTile::load(getVisitedTile(keysOfScores));
      };
      int keyTile = hidesTiles<Problem> ? await().number : tile.keyTiles - 1;
      startScores();
      startSlopes();
      awaitMatmuls<1>();
      pin(scores);
      mask<false>(score, tile, keyTile, lane);
      exponentiateRows(scores, scale, logSums);
      awaitMatmuls<0>();
      pin(slopes);
      valueRing.release(lane.isElected);
      differentiate();
      auto computeTile = [&](TileForm form) {
        startScores();
        startSum();
        startSlopes();
        awaitMatmuls<2>();
        pin(scores);
        if (form != TileForm::Interior)
          mask<false>(score, tile, keyTile, lane);
        else if constexpr (Score::exists)
          mask<true>(score, tile, keyTile, lane);
        exponentiateRows(scores, scale, logSums);
        awaitMatmuls<0>();
        pin(slopes);
        pin(result);
        keysOfSum.release(lane.isElected);
        valueRing.release(lane.isElected);
        differentiate();
      };
      if constexpr (hidesTiles<Problem>)
        visitChosenTiles<Problem>(tile, lane, Visited(bits, tile).count() - 1, keyTile, await, computeTile);
      else
        visitKeyTiles<Problem>(tile, lane, --keyTile, computeTile);
      startSum();

#pragma unroll
      for (int row = 0; row < 2; ++row) {
        remainders[row] = sumOfRow(remainders[row]);
        if (lane.column == 0)
          statistics[(static_cast<long long>(tile.batch) * Problem::queryHeads + tile.head) * paddedQueries +
                     tile.first + lane.row + 8 * row] = {logSums[row], rowSums[row] + remainders[row]};
        if constexpr (Score::returnsDerivative)
          remainders[row] *= sumOfRow(weights[row]);
      }
      awaitMatmuls<0>();
      pin(result);
      keysOfSum.release(lane.isElected);
      subtractMean(lane);
      storeQueryGradient<Queries>(queryGradientMap, own, result, Problem::scale, tile, lane);
      queryRing.release(lane.isElected);
    }
  }

  /// Computes scores from q · k, and derivatives if the function returns them.
  template <bool isInterior>
  __device__ void mask(const Score &score, const Tile &tile, int keyTile, const WarpgroupLane &lane) {
    if constexpr (Score::returnsDerivative)
      applyToTile<Problem, isInterior>(score, scores, tile, keyTile, lane, derivatives);
    else if constexpr (Score::exists)
      applyToTile<Problem, isInterior>(score, scores, tile, keyTile, lane);
    else
      maskTile<Problem>(scores, tile, keyTile, lane);
  }
  /// Replaces dP by dS.
  __device__ void differentiate() {
    if constexpr (Score::returnsDerivative)
      differentiateRows(slopes, scores, derivatives, rowSums, remainders, weights);
    else
      differentiateRows(slopes, scores, rowSums, remainders);
  }

  /// Reads or computes the numbers of one of the thread's rows.
  __device__ void readRow(int row, const Tile &tile, const WarpgroupLane &lane, const Element *output,
                          const Element *outputGradient, const float *logSumExp) {
    const int query = tile.first + lane.row + 8 * row;
    remainders[row] = weights[row] = 0;
    float sum = 0;
    logSums[row] = infinity();
    if (query < Problem::queries) {
      logSums[row] =
          log2OfE * shiftBy<Problem>(*Problem::LogSumExpLayout::getVectors(logSumExp, tile.batch, tile.head, query));
      const Element *outputs = Problem::OutputLayout::getVectors(output, tile.batch, tile.head, query);
      const Element *slopes = Problem::OutputGradientLayout::getVectors(outputGradient, tile.batch, tile.head, query);
#pragma unroll
      for (int i = 0; i < (Problem::headDim / 8 + 3) / 4; ++i) {
        const int chunk = 4 * i + threadIdx.x % 4;
        if (Problem::headDim % 32 == 0 || chunk < Problem::headDim / 8)
          sum += dotChunks<Element>(reinterpret_cast<const Chunk *>(outputs)[chunk],
                                    reinterpret_cast<const Chunk *>(slopes)[chunk]);
      }
    }
    rowSums[row] = sumOfRow(sum);
  }

  __device__ void subtractMean(const WarpgroupLane &lane) {
    meanRing.awaitFull();
#pragma unroll
    for (int i = 0; i < Keys::columns / 2; ++i)
      result[i] -= remainders[i / 2 % 2] * Mean::get(shared + meanOfKeys, lane.column + 8 * (i / 4) + i % 2);
    lane.synchronise();
    meanRing.release(lane.isElected);
  }
  __device__ unsigned getVisitedTile(const Ring<keyStages> &ring) const {
    return shared + visitedTiles + ring.getStage() * 4;
  }
  __device__ unsigned getKeys() const { return shared + keyTiles + keyRing.getStage() * Keys::bytes; }
  __device__ unsigned getValues() const { return shared + valueTiles + valueRing.getStage() * Keys::bytes; }

  const unsigned shared;
  Ring<1> queryRing, meanRing;
  Ring<keyStages> keyRing;
  Ring<valueStages> valueRing;
  // Per computing thread: parts of two rows.
  float scores[keysPerTile / 2], slopes[keysPerTile / 2], result[Keys::columns / 2];
  unsigned left[keysPerTile / 4];
  float logSums[2], rowSums[2], remainders[2];
  // Only with derivatives of scores: these, and for each row their sum, weighted by probabilities.
  float derivatives[Score::returnsDerivative ? keysPerTile / 2 : 1], weights[2];
};
