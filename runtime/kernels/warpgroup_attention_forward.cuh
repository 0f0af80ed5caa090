//===- warpgroup_attention_forward.cuh - Attention on sm_90a ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// softmax(scale · Q · Kᵀ) · V. A block computes `warpgroups` · 64 queries of a head at a time, and goes through the
/// tiles of keys from the last to the first. While a warpgroup computes the exponentials of one tile, its matmul with
/// the values of the tile before and the matmuls of the other warpgroups run.
///
/// With two `queryStages`, the queries and first keys of a tile are copied while the tile before ends.
template <class Problem, class Wgmma, int warpgroups, int keysPerTile, int stages, int queryStages,
          int headsPerGroup = Problem::batches * Problem::queryHeads>
class WarpgroupAttentionForward {
  using Element = typename Wgmma::Element;
  static constexpr int queriesPerTile = rowsPerWarpgroup * warpgroups;
  using Score = ScoreOf<Problem>;
  // With a score function, the compiler may not see that all threads use the same stages of rings.
  using Queries = SlabTile<Wgmma, Problem::headDim, queriesPerTile, /*makesUniform=*/Score::exists>;
  using Keys = SlabTile<Wgmma, Problem::headDim, keysPerTile, /*makesUniform=*/Score::exists>;
  // The bits of tiles are those of tiles that begin with the first query.
  static constexpr bool lastIsFull = seesMostLast<Problem>() && !hidesTiles<Problem>;
  using Tile = QueryTile<Problem, queriesPerTile, keysPerTile, headsPerGroup, lastIsFull>;
  using Visited = VisitedKeyTiles<Problem, Tile, queriesPerTile, /*parts=*/warpgroups>;
  using StepMatmul = BiasStepMatmul<Wgmma, keysPerTile>;
  /// The queue of the thread that copies.
  using Queue = typename SelectQueue<Tile::count, hidesTiles<Problem>>::Type;
  // The thread that copies keeps more numbers if data hides tiles.
  static constexpr int copyRegisters = warpgroups == 3 ? 32 : hidesTiles<Problem> ? 40 : 24;

  // Offsets in shared memory.
  static constexpr int outputs = queryStages * Queries::bytes, keyTiles = outputs + Queries::bytes;
  static constexpr int valueTiles = keyTiles + stages * Keys::bytes, barriers = valueTiles + stages * Keys::bytes;
  /// If data hides tiles: one VisitedTile per stage of keys, for each warpgroup, and ChosenQueries per stage of
  /// queries.
  static constexpr int visitedTiles = barriers + Ring<queryStages>::bytes + 2 * Ring<stages>::bytes;
  static constexpr int chosenQueries = visitedTiles + 4 * warpgroups * stages;
  /// If a matmul adds the steps of biases: its right operand.
  static constexpr int biasColumns = visitedTiles;

public:
  static constexpr int threads = 128 * (warpgroups + 1), tiles = Tile::count;
  /// The barriers, and the bytes by which the first tile may have to be moved for its alignment.
  static constexpr int sharedBytes = (hidesTiles<Problem>        ? chosenQueries + queryStages * ChosenQueries::bytes
                                      : multipliesSteps<Problem> ? biasColumns + StepMatmul::bytes
                                                                 : visitedTiles) +
                                     slabSlack;

  /// `output` and `logSumExp` are null if they are not wanted. `bits` are those of Visited::Mask if data hides tiles,
  /// with ranks if `isRanked`.
  __device__ static void run(const TensorMap *queries, const TensorMap *keys, const TensorMap *values,
                             const TensorMap *output, float *logSumExp, const Score &score = {},
                             TileBits *bits = nullptr, bool isRanked = false) {
    WarpgroupAttentionForward attention;
    if (threadIdx.x == 0) {
      attention.queryRing.init(1, warpgroups);
      attention.keyRing.init(1, warpgroups);
      attention.valueRing.init(1, warpgroups);
      publishBarriers();
    }
    if constexpr (multipliesSteps<Problem>)
      StepMatmul::writeColumns(attention.shared + biasColumns);
    __syncthreads();
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      moveRegisters<warpgroups, copyRegisters>(0);
      if (threadIdx.x == 0)
        attention.load(*queries, *keys, *values, bits, isRanked);
    } else {
      moveRegisters<warpgroups, copyRegisters>(1);
      attention.compute(WarpgroupLane(warpgroup - 1), output, logSumExp, score);
    }
  }

private:
  __device__ WarpgroupAttentionForward()
      : shared(getMemory()), queryRing(shared + barriers), keyRing(shared + barriers + Ring<queryStages>::bytes),
        valueRing(shared + barriers + Ring<queryStages>::bytes + Ring<stages>::bytes) {}

  /// Returns the address at which tiles begin. With a score function, the statement keeps the compiler from computing
  /// the address again for each tile of keys. Plain attention is faster without the statement.
  __device__ static unsigned getMemory() {
    unsigned address = getSlabMemory();
    if constexpr (Score::exists)
      asm volatile("" : "+r"(address));
    return address;
  }

  __device__ static Tile findTile(int number, TileBits *bits, bool isRanked) {
    if constexpr (hidesTiles<Problem>)
      if (isRanked)
        return Tile(number, [&](int batch, int rank) { return Visited::Mask::getRanked(bits, batch, rank); });
    return Tile(number);
  }
  /// Returns the same tile without reading the bits again.
  __device__ static Tile getTile(const ChosenQueries &chosen) {
    if constexpr (hidesTiles<Problem>)
      return Tile(chosen.number, [&](int, int) { return chosen.place; });
    return Tile(chosen.number);
  }

  __device__ void load(const TensorMap &queries, const TensorMap &keys, const TensorMap &values, TileBits *bits,
                       bool isRanked) {
    prefetchMap(queries);
    prefetchMap(keys);
    prefetchMap(values);
    auto loadTile = [&](const TensorMap &map, unsigned tiles, Ring<stages> &ring, const Tile &tile, int number) {
      const unsigned barrier = ring.startFilling(Keys::bytes);
      Keys::load(tiles + ring.getStage() * Keys::bytes, map, barrier, tile.getFirstKey(number), tile.keyHead,
                 tile.batch);
      ring.advance();
    };
    Queue queue = [&] {
      if constexpr (hidesTiles<Problem>)
        return Queue(Visited::Mask::getTaken(bits));
      else
        return Queue();
    }();
#pragma unroll 1
    for (int number; queue.next(number);) {
      const Tile tile = findTile(number, bits, isRanked);
      Visited visited(bits, tile);
      int left = visited.count() - 1;
      if constexpr (hidesTiles<Problem>) {
        queryRing.awaitFree();
        ChosenQueries{number, tile.first / queriesPerTile, left + 1}.store(getChosenQueries());
      }
      const unsigned barrier = queryRing.startFilling(Queries::bytes);
      Queries::load(shared + queryRing.getStage() * Queries::bytes, queries, barrier, tile.first, tile.head,
                    tile.batch);
      queryRing.advance();
      // The order of use: the scores of a tile are computed before the values of the tile after it are needed.
      auto loadKeys = [&](int left) {
        const VisitedTile next = visited.next(left);
        if constexpr (hidesTiles<Problem>) {
          keyRing.awaitFree();
          next.template store<warpgroups>(getVisitedTile(0));
        }
        loadTile(keys, shared + keyTiles, keyRing, tile, next.number);
        return next.number;
      };
      int keyTile = loadKeys(left);
#pragma unroll 1
      for (; left > 0; --left) {
        const int next = loadKeys(left - 1);
        loadTile(values, shared + valueTiles, valueRing, tile, keyTile);
        keyTile = next;
      }
      loadTile(values, shared + valueTiles, valueRing, tile, keyTile);
    }
    if constexpr (hidesTiles<Problem>) {
      queryRing.awaitFree();
      ChosenQueries{Tile::count, 0, 0}.store(getChosenQueries());
      queryRing.startFilling(0);
    }
  }

  __device__ void compute(const WarpgroupLane &lane, const TensorMap *output, float *logSumExp, const Score &score) {
    const Turns<warpgroups> turns(lane.warpgroup);
    const unsigned ownRows = shared + lane.warpgroup * rowsPerWarpgroup * 128;
    TileQueue<Tile::count> queue;
    ChosenQueries chosen{0, 0, 0};
    auto take = [&] {
      if constexpr (!hidesTiles<Problem>)
        return queue.next(chosen.number);
      queryRing.awaitFull();
      // The matmul that follows synchronises the warps, so that all have read this when one thread releases the stage.
      chosen = ChosenQueries::load(getChosenQueries());
      return chosen.number < Tile::count;
    };
#pragma unroll 1
    while (take()) {
      const Tile tile = getTile(chosen);
      const auto ownTiles = OwnTiles::find<Problem>(tile, lane);
      const unsigned own = ownRows + queryRing.getStage() * Queries::bytes;
      const int lastTile = tile.keyTiles - 1;
      int keyTile = lastTile;
      skipTiles(turns, lane, keyTile, ownTiles.last);
      // Biases are linear in the keys, so those of all tiles follow from those of one.
      const TileBias<Problem> lastBias = findBias<Problem>(score, tile, lastTile, lane);
      auto getBias = [&] { return lastBias.move((keyTile - lastTile) * keysPerTile); };
      if constexpr (multipliesSteps<Problem>)
        stepMatmul.setStep(lastBias.step, lane);
      queryRing.awaitFull();
      keyRing.awaitFull();
      turns.await();
      beginMatmuls();
      multiplyKeys(own);
      turns.pass();
      awaitMatmuls<0>();
      pin(scores);
      TileForm form = outerForm<Problem>;
      InteriorTiles interior{0, 0};
      if constexpr (hidesTiles<Problem>) {
        interior = findInterior<Problem>(tile, lane);
        form = getForm<Problem, Tile>(loadVisitedTile(lane), interior, keyTile);
      }
      keyRing.release(lane.isElected);
      softmax.inspect(scores);
      const auto bias = finishScores(score, tile, keyTile, form, getBias(), lane);
      softmax.template exponentiate<true>(scores, form == TileForm::Interior, bias);
      packLeft<Element>(left, scores);

      int adds = 0;
      auto computeTile = [&](TileForm form) {
        keyRing.awaitFull();
        const VisitedTile visited = loadVisitedTile(lane);
        turns.await();
        if (!visited.isSeen()) {
          // The numerators of this tile are zeros.
          valueRing.awaitFull();
          beginMatmuls();
          multiplyValues(adds);
          adds = 1;
          turns.pass();
          awaitMatmuls<0>();
          pin(result);
          keyRing.release(lane.isElected);
          valueRing.release(lane.isElected);
#pragma unroll
          for (unsigned &pair : left)
            pair = 0;
          return;
        }
        beginMatmuls();
        multiplyKeys(own);
        valueRing.awaitFull();
        beginMatmuls();
        multiplyValues(adds);
        adds = 1;
        turns.pass();
        if constexpr (hidesTiles<Problem>)
          form = getForm<Problem, Tile>(visited, interior, keyTile);
        awaitMatmuls<1>();
        pin(scores);
        keyRing.release(lane.isElected);
        softmax.inspect(scores);
        const auto bias = finishScores(score, tile, keyTile, form, getBias(), lane);
        softmax.template exponentiate<false>(scores, form == TileForm::Interior, bias);
        awaitMatmuls<0>();
        pin(result);
        valueRing.release(lane.isElected);
        packLeft<Element>(left, scores);
        softmax.rescale(result);
      };
      if constexpr (hidesTiles<Problem>) {
#pragma unroll 1
        for (; chosen.keyTiles > 1; --chosen.keyTiles)
          computeTile(form);
      } else {
        visitKeyTiles<Problem>(tile, lane, --keyTile, computeTile, ownTiles.first);
      }

      queryRing.release(lane.isElected);
      valueRing.awaitFull();
      beginMatmuls();
      multiplyValues(adds);
      float factors[2];
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const float sum = softmax.sumRow(row);
        factors[row] = invertSum<Problem>(sum);
        storeLogSumExp<Problem>(logSumExp, softmax, sum, tile, row, lane);
      }
      awaitMatmuls<0>();
      pin(result);
      valueRing.release(lane.isElected);
      if constexpr (isFarHidden<Problem>)
        skipTiles(turns, lane, keyTile, -1);
      if (output)
        storeOutput<Queries>(*output, ownRows + outputs, result, factors, tile, lane);
    }
    if (lane.isElected)
      awaitStoresRead();
  }

  /// Computes scores from q · k of a tile, except for the bias that it returns. `interior` is that of the interior.
  __device__ TileBias<Problem> finishScores(const Score &score, const Tile &tile, int keyTile, TileForm form,
                                            const TileBias<Problem> &interior, const WarpgroupLane &lane) {
    if constexpr (!Score::exists) {
      if (form != TileForm::Interior)
        maskTile<Problem>(scores, tile, keyTile, lane);
      return {};
    } else {
      if (__builtin_expect(form == TileForm::Interior, true))
        return computeScores<Problem, TileForm::Interior>(score, scores, tile, keyTile, interior, lane);
      if constexpr (clipsToInterior<Problem>())
        if (form == TileForm::Clipped)
          return computeScores<Problem, TileForm::Clipped>(score, scores, tile, keyTile, interior, lane);
      if constexpr (hasMixedTiles<Problem>)
        return computeScores<Problem, TileForm::Mixed>(score, scores, tile, keyTile, interior, lane);
      return {};
    }
  }
  /// Goes from tile number `keyTile` to number `next` without the tiles in between, which no query of the warpgroup
  /// sees. Warpgroups keep their turns.
  __device__ void skipTiles(const Turns<warpgroups> &turns, const WarpgroupLane &lane, int &keyTile, int next) {
    if constexpr (skipsOwnTiles<Problem>)
#pragma unroll 1
      for (; keyTile > next; --keyTile) {
        turns.await();
        turns.pass();
        keyRing.awaitFull();
        keyRing.release(lane.isElected);
        valueRing.awaitFull();
        valueRing.release(lane.isElected);
      }
  }
  /// Returns what the copying thread left for this stage of keys. Unless data hides tiles, all are seen.
  __device__ VisitedTile loadVisitedTile(const WarpgroupLane &lane) const {
    if constexpr (hidesTiles<Problem>)
      return VisitedTile::load(getVisitedTile(lane.warpgroup));
    return {0, 1, 1};
  }
  __device__ unsigned getVisitedTile(int part) const {
    return shared + visitedTiles + (keyRing.getStage() * warpgroups + part) * 4;
  }
  __device__ unsigned getChosenQueries() const {
    return shared + chosenQueries + queryRing.getStage() * ChosenQueries::bytes;
  }
  __device__ void multiplyKeys(unsigned own) {
    if constexpr (multipliesSteps<Problem>)
      stepMatmul.multiply(scores, shared + biasColumns);
    Keys::template multiplyTransposed<Queries>(scores, own, shared + keyTiles + keyRing.getStage() * Keys::bytes,
                                               /*adds=*/multipliesSteps<Problem>);
  }
  __device__ void multiplyValues(int adds) {
    Keys::multiply(result, left, shared + valueTiles + valueRing.getStage() * Keys::bytes, adds);
  }

  const unsigned shared;
  Ring<queryStages> queryRing;
  Ring<stages> keyRing, valueRing;
  // Per computing thread: parts of two rows.
  float scores[keysPerTile / 2], result[Keys::columns / 2];
  unsigned left[keysPerTile / 4];
  StepMatmul stepMatmul;
  typename SelectSoftmax<Problem>::Type softmax;
};
