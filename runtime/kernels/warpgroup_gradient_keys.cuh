//===- warpgroup_gradient_keys.cuh - dK and dV in one pass ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The work of a warpgroup that sums dK and dV of 64 keys, in registers, and leaves dS in shared memory for dQ. Rows of
/// the scores are keys. The matmul of a tile's dS with its queries runs with the scores of the next tile; the other
/// warpgroups multiply while this one computes exponentials. If `overlaps`, dP also runs at the same time as the matmul
/// for dV, which takes more registers.
template <class Block, bool overlaps>
class GradientOfKeys {
  using Problem = typename Block::Problem;
  using Element = typename Block::Element;
  using Queries = typename Block::Queries;
  using Keys = typename Block::Keys;
  using Tile = typename Block::Tile;
  using Score = ScoreOf<Problem>;
  static constexpr int queriesPerTile = Block::queriesPerTile;
  static constexpr float scale = scaleOfTiles<Problem>;
  static constexpr bool skipsHidden = isFarHidden<Problem> && clipsToInterior<Problem>() && !hidesTiles<Problem>;

public:
  __device__ GradientOfKeys(const Block &block, int warpgroup, const Score &score)
      : block(block), lane(warpgroup), own(block.shared + warpgroup * rowsPerWarpgroup * 128), score(score) {}

  __device__ void run(const TensorMap *keyGradientMap, const TensorMap *valueGradientMap) {
#pragma unroll 1
    for (unsigned parity = 0; block.awaitTile(parity);) {
      const Tile tile(block.getTileNumber());
      clear(keyResult);
      clear(valueResult);
      if (const int queryTilesPerHead = block.countQueryTiles(tile); queryTilesPerHead > 0)
        sum(tile, queryTilesPerHead);
      // The loop in between has no registers to keep the parity, nor the tile.
      parity = block.getTileParity();
      awaitPhase(block.shared + Block::centredBarrier, parity);
      parity ^= 1;
      storeKeyGradients<Keys, Block::values>(keyGradientMap, valueGradientMap, own, keyResult, valueResult,
                                             Problem::scale, Tile(block.getTileNumber()), lane);
      block.releaseTile(lane.isElected);
    }
  }

private:
  __device__ void sum(const Tile &tile, int queryTilesPerHead) {
    // Biases are linear in the queries, so those of all tiles follow from those of one. With a causal mask, the first
    // queries are the nearest ones, whose biases are the smallest and most exact.
    const int firstTile = tile.getFirstQueryTile();
    TileBias<Problem> firstBias;
    if constexpr (hasLinearBias<Problem> && Tile::members == 1)
      firstBias = findBias(firstTile, tile.batch * Problem::queryHeads + tile.head);
    auto getBias = [&] {
      if constexpr (!hasLinearBias<Problem>)
        return TileBias<Problem>();
      const int queryTile = block.getQueryTile().number;
      return Tile::members == 1 ? firstBias.move((queryTile - firstTile) * queriesPerTile)
                                : findBias(queryTile, block.getHead());
    };
    // The ring is at the tile whose scores are computed. dS of the tile before is multiplied.
    int left = queryTilesPerHead;
    TileBias<Problem> bias;
    if (isHidden()) {
      leaveZeros();
    } else {
      startScores();
      bias = getBias();
      awaitMatmuls<0>();
      computeTile(left, bias);
    }
#pragma unroll 1
    for (int leftOfAll = Tile::members * queryTilesPerHead - 1; leftOfAll > 0; --leftOfAll) {
      left = Tile::members == 1 ? leftOfAll : left == 1 ? block.getQueryTilesPerHead() : left - 1;
      if (isHidden()) {
        startKeys();
        finishKeys();
        leaveZeros();
        continue;
      }
      startScores();
      bias = getBias();
      startKeys();
      finishKeys();
      computeTile(left, bias);
    }
    startKeys();
    finishKeys();
  }

  /// Returns whether none of the warpgroup's keys is at a visible distance of the queries of the ring's tile.
  /// VisiblePairs::canSee would also compare with the ends of the sequences, in 12 more instructions per tile.
  __device__ bool isHidden() const {
    if constexpr (skipsHidden) {
      block.queryRing.awaitFull();
      const int firstQuery = block.getQueryTile().number * queriesPerTile;
      const int firstKey = block.getFirstKey() + lane.warpgroup * rowsPerWarpgroup;
      return firstQuery + queriesPerTile - 1 < firstKey + Score::firstDistance ||
             firstQuery > firstKey + rowsPerWarpgroup - 1 + Score::lastDistance;
    } else {
      return false;
    }
  }
  /// Goes to the next tile of queries. dS of this one is 0.
  __device__ void leaveZeros() {
#pragma unroll
    for (unsigned &pair : packed)
      pair = 0;
    leaveSlopes();
  }
  __device__ void leaveSlopes() {
    block.queryRing.advance();
    block.slopeRing.awaitFree();
    Block::Slopes::writeLeft(block.getSlopes() + lane.warpgroup * rowsPerWarpgroup * 128, packed);
    finishWriting(block.slopeRing);
  }

  /// Computes P and dS from the scores of a tile of queries, adds to dV, and goes to the next tile.
  __device__ void computeTile(int left, const TileBias<Problem> &interiorBias) {
    pin(scores);
    if constexpr (Score::returnsDerivative)
      exponentiateWithDerivatives();
    else
      exponentiate(finishScores(left, interiorBias));
    if constexpr (overlaps) {
      startSlopes();
      startValues();
      awaitMatmuls<1>();
      pin(slopes);
      differentiate(slopes, scores);
      awaitMatmuls<0>();
      pin(valueResult);
    } else {
      startValues();
      awaitMatmuls<0>();
      pin(valueResult);
      startSlopes();
      awaitMatmuls<0>();
      pin(slopes);
      differentiate(slopes, scores);
    }
    packLeft<Element>(packed, slopes);
    leaveSlopes();
  }

  /// Replaces scores by probabilities.
  __device__ void exponentiate(const TileBias<Problem> &bias) {
    exponentiateByQuery(scores, scale, block.getStatistics(), lane, bias);
    packLeft<Element>(packed, scores);
  }
  /// Replaces scores by the factors of dP − D in dS, which are probabilities times derivatives. Only `packed` gets
  /// probabilities.
  __device__ void exponentiateWithDerivatives() {
    const VisitedTile tile = block.getQueryTile();
    const int head = block.getHead(), firstKey = block.getFirstKey(), firstQuery = tile.number * queriesPerTile;
    if (isInteriorOfQueries<Problem, queriesPerTile / 2>(firstQuery, firstKey, tile.isWhole(), lane))
      exponentiateWithDerivatives<true>(head, firstQuery, firstKey);
    else
      exponentiateWithDerivatives<false>(head, firstQuery, firstKey);
  }
  /// The same for one form of the score function. Each form is a branch that contains all code with derivatives,
  /// because a thread has no registers to keep them until the branches join.
  template <bool isInterior>
  __device__ void exponentiateWithDerivatives(int head, int firstQuery, int firstKey) {
    float derivatives[queriesPerTile / 2];
    int key = firstKey + lane.row, query = firstQuery + lane.column;
    // Keeps the compiler from computing all indices before the function, which takes registers.
    asm volatile("" : "+r"(key), "+r"(query), "+r"(head));
    applyScoreFunction<Problem, isInterior, /*rowsAreKeys=*/true>(score, scores, key, query, head / Problem::queryHeads,
                                                                  head % Problem::queryHeads, derivatives);
    exponentiate({});
#pragma unroll
    for (int i = 0; i < queriesPerTile / 2; ++i)
      scores[i] *= derivatives[i];
  }

  /// Returns the bias of the interior for the first query of a tile. The statistics contain those of the others.
  __device__ TileBias<Problem> findBias(int queryTile, int headOfAll) const {
    return TileBias<Problem>::template find</*rowsAreKeys=*/true>(
        score, block.getFirstKey() + lane.row, queryTile * queriesPerTile, headOfAll / Problem::queryHeads,
        headOfAll % Problem::queryHeads);
  }
  /// Computes scores from q · k, except for the bias that it returns. `interior` is that of the interior.
  __device__ TileBias<Problem> finishScores(int left, const TileBias<Problem> &interior) {
    if constexpr (Score::exists) {
      const VisitedTile tile = block.getQueryTile();
      const int head = block.getHead();
      return computeScoresOfQueries<Problem>(score, scores, tile.number * queriesPerTile, block.getFirstKey(),
                                             head / Problem::queryHeads, head % Problem::queryHeads, tile.isWhole(),
                                             interior, lane);
    } else {
      if constexpr (Problem::isCausal)
        maskQueriesAtDistance(scores, Tile::getDistance(left, block.getLeftAtFirst()), lane);
      return {};
    }
  }
  __device__ void startScores() {
    block.queryRing.awaitFull();
    forget(scores);
    beginMatmuls();
    Queries::template multiplyTransposed<Keys>(scores, own, block.getQueries());
  }
  /// Starts dP − D.
  __device__ void startSlopes() {
    startFromRowSums(slopes, block.getStatistics(), lane);
    beginMatmuls();
    Queries::template multiplyTransposed<Keys>(slopes, own + Block::values, block.getGradients(), /*adds=*/1);
  }
  __device__ void startValues() {
    beginMatmuls();
    Queries::multiply(valueResult, packed, block.getGradients());
  }
  __device__ void startKeys() {
    beginMatmuls();
    Queries::multiply(keyResult, packed, block.getQueries(block.queryRing.getPreviousStage()));
  }
  __device__ void finishKeys() {
    awaitMatmuls<0>();
    pin(keyResult);
    block.queryRing.releasePrevious(lane.isElected);
  }

  Block block;
  const WarpgroupLane lane;
  /// The warpgroup's rows of the keys.
  const unsigned own;
  const Score score;
  // Per thread: parts of two rows.
  float scores[queriesPerTile / 2], slopes[queriesPerTile / 2];
  float keyResult[Keys::columns / 2], valueResult[Keys::columns / 2];
  unsigned packed[queriesPerTile / 4];
};
