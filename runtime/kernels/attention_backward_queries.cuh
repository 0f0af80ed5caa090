//===- attention_backward_queries.cuh - dQ of attention ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes dQ of `warps` · RowBlock::perWarp queries of a head. Keys and values come in tiles of
/// `keysPerTile`, of which `stages` are in shared memory.
///
/// Each row of dS sums to zero. If D comes from a rounded output, the row sums to a remainder instead, and D is too
/// small by this remainder. Two corrections follow. The stored D includes the remainder. And because
/// dQ = scale · dS · (K − k) holds for every vector k, k is the mean of the keys: with k = 0 the remainder would be
/// multiplied by the component that all keys share.
template <class Problem, class RowBlock, int warps, int keysPerTile, int stages, bool keepsLeft>
class AttentionBackwardQueries {
  using Element = typename RowBlock::Element;
  using Tile = SharedTile<Element, Problem::headDim, RowBlock::depthMultiple>;
  using Scores = typename RowBlock::template Accumulator<keysPerTile>;
  using Result = typename RowBlock::template Result<Tile::depth>;
  using LeftFragment = typename RowBlock::template LeftFragment<Tile, keepsLeft>;

  /// True if the output is rounded, so that D needs the correction.
  static constexpr bool outputIsRounded = sizeof(Element) == 2;
  using Mean = KeyMean<RowBlock, Tile, 32 * warps, keysPerTile, outputIsRounded>;

  static constexpr int queriesPerTile = warps * RowBlock::perWarp;
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = keysPerTile * Tile::pitch, ownTileBytes = queriesPerTile * Tile::pitch;
  static constexpr int stagingBytes = RowBlock::template stagingBytes<keysPerTile>;
  static constexpr float scale = scaleOfScores<Problem>;
  using Score = ScoreOf<Problem>;
  using Derivatives = typename SelectDerivatives<Score, Scores>::Type;
  static_assert(stages >= 2);

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::queryHeads * queryTiles;
  static constexpr int sharedBytes = 2 * ownTileBytes + 2 * stages * tileBytes + warps * stagingBytes;

  /// `rowSums` receives D as an array of [batches, heads, queries].
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, const Element *output,
                             const float *logSumExp, const Element *outputGradient, Element *queryGradient,
                             float *rowSums, const Score &score = {}) {
    const auto origin = HeadTile<queryTiles, queriesPerTile, Problem::queryHeads, seesMostLast<Problem>()>::fromBlock(
        blockIdx.x, Problem::batches);
    const int firstQuery = origin.first, head = origin.head, batch = origin.batch;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const Element *keysOfHead = Problem::KeyLayout::getVectors(keys, batch, head / group, 0);
    const Element *valuesOfHead = Problem::ValueLayout::getVectors(values, batch, head / group, 0);
    const auto visible = KeyTiles::find<Problem>(firstQuery, firstQuery + queriesPerTile, keysPerTile);
    const int tiles = visible.end - visible.first;
    // The first key of the first tile.
    const int skippedKeys = Score::exists ? visible.first * keysPerTile : 0;
    if constexpr (Score::exists) {
      keysOfHead += skippedKeys * Problem::KeyLayout::stride;
      valuesOfHead += skippedKeys * Problem::ValueLayout::stride;
    }

    const int warp = threadIdx.x / 32, ownFirst = firstQuery + warp * RowBlock::perWarp;
    const unsigned queryTile = getSharedMemory(), gradientTile = queryTile + ownTileBytes;
    const unsigned keyTiles = gradientTile + ownTileBytes, valueTiles = keyTiles + stages * tileBytes;
    const unsigned staging = valueTiles + stages * tileBytes + warp * stagingBytes;
    const unsigned ownQueries = queryTile + warp * RowBlock::perWarp * Tile::pitch,
                   ownGradients = ownQueries + ownTileBytes;
    auto load = [&](int tile) {
      if (tile < tiles) {
        const int first = tile * keysPerTile, offset = tile % stages * tileBytes;
        Tile::template load<typename Problem::KeyLayout, threads, keysPerTile>(
            keyTiles + offset, keysOfHead + first * Problem::KeyLayout::stride, Problem::keys - skippedKeys - first);
        Tile::template load<typename Problem::ValueLayout, threads, keysPerTile>(
            valueTiles + offset, valuesOfHead + first * Problem::ValueLayout::stride,
            Problem::keys - skippedKeys - first);
      }
      commitCopies();
    };
    Tile::template load<typename Problem::QueryLayout, threads, queriesPerTile>(
        queryTile, Problem::QueryLayout::getVectors(queries, batch, head, firstQuery), Problem::queries - firstQuery);
    Tile::template load<typename Problem::OutputGradientLayout, threads, queriesPerTile>(
        gradientTile, Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, firstQuery),
        Problem::queries - firstQuery);
#pragma unroll
    for (int tile = 0; tile < stages - 1; ++tile)
      load(tile);

    float sums[RowBlock::perLane], logSums[RowBlock::perLane];
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      const int query = ownFirst + Scores::getRow(i);
      const bool isValid = query < Problem::queries;
      logSums[i] =
          isValid ? shiftBy<Problem>(*Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query)) * log2OfE
                  : infinity();
      sums[i] = reduceWarp<RowBlock::lanesPerRow>(
          isValid ? dotRow(Problem::OutputLayout::getVectors(output, batch, head, query),
                           Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, query))
                  : 0,
          [](float a, float b) { return a + b; });
    }

    Result result;
    RowBlock::clear(result);
    [[maybe_unused]] Mean mean;
    float remainders[RowBlock::perLane] = {};
    // With derivatives f', rows of dS do not sum to zero: a remainder changes them by Σ p · f' times itself.
    [[maybe_unused]] float weights[RowBlock::perLane] = {};
    waitForCopies<stages - 2>();
    __syncthreads();
    const LeftFragment left(ownQueries), leftGradient(ownGradients);
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      if (tile != 0) {
        waitForCopies<stages - 2>();
        __syncthreads();
      }
      load(tile + stages - 1);
      const int firstKey = skippedKeys + tile * keysPerTile, endKey = firstKey + keysPerTile,
                offset = tile % stages * tileBytes;
      if constexpr (outputIsRounded)
        mean.add(keyTiles + offset);
      if (!VisiblePairs<Problem>::canSee(ownFirst, ownFirst + RowBlock::perWarp, firstKey, endKey))
        continue;
      Scores scores, gradients;
      [[maybe_unused]] Derivatives derivatives;
      RowBlock::multiplyTransposed(scores, left, keyTiles + offset);
      if constexpr (Score::exists)
        applyScoreFunction<Problem, false, RowBlock::perWarp>(score, scores, derivatives, ownFirst, firstKey, batch,
                                                              head);
      else if (endKey > Problem::keys || (Problem::isCausal && endKey > ownFirst + 1))
        maskScores<Problem::isCausal, false>(scores, ownFirst, firstKey, Problem::keys);
      RowBlock::multiplyTransposed(gradients, leftGradient, valueTiles + offset);
#pragma unroll
      for (int i = 0; i < RowBlock::perLane; ++i)
#pragma unroll
        for (int j = 0; j < Scores::valuesPerRow; ++j) {
          const float probability = exp2Approximate(fmaf(scores.values[i][j], scale, -logSums[i]));
          gradients.values[i][j] = probability * (gradients.values[i][j] - sums[i]);
          if constexpr (outputIsRounded)
            remainders[i] += gradients.values[i][j];
          if constexpr (hasDerivatives<Derivatives>) {
            weights[i] += probability * derivatives.values[i][j];
            gradients.values[i][j] *= derivatives.values[i][j];
          }
        }
      RowBlock::template multiplyAccumulate<Tile>(result, gradients, keyTiles + offset, 0, staging);
    }
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      if constexpr (outputIsRounded)
        remainders[i] = reduceWarp<RowBlock::lanesPerRow>(remainders[i], [](float a, float b) { return a + b; });
      const int query = ownFirst + Scores::getRow(i);
      if (query < Problem::queries && threadIdx.x % RowBlock::lanesPerRow == 0)
        rowSums[(batch * Problem::queryHeads + head) * Problem::queries + query] = sums[i] + remainders[i];
    }
    if constexpr (outputIsRounded) {
      mean.write(keyTiles, tiles, Problem::keys - skippedKeys);
      if constexpr (hasDerivatives<Derivatives>)
#pragma unroll
        for (int i = 0; i < RowBlock::perLane; ++i)
          remainders[i] *= reduceWarp<RowBlock::lanesPerRow>(weights[i], [](float a, float b) { return a + b; });
#pragma unroll
      for (int i = 0; i < RowBlock::perLane; ++i)
#pragma unroll
        for (int j = 0; j < Result::valuesPerRow; ++j)
          result.values[i][j] -= remainders[i] * Mean::get(keyTiles, Result::getColumn(j));
    }
    writeResult<RowBlock, Tile, typename Problem::QueryGradientLayout>(
        result, Problem::scale, ownQueries, queryGradient, batch, head, ownFirst, Problem::queries, 0);
  }

private:
  /// Returns a lane's part of Σ output · gradient over one row.
  __device__ static float dotRow(const Element *output, const Element *gradient) {
    constexpr int lanes = RowBlock::lanesPerRow;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < (Tile::usedChunks + lanes - 1) / lanes; ++i) {
      const int chunk = i * lanes + threadIdx.x % lanes;
      if (Tile::usedChunks % lanes == 0 || chunk < Tile::usedChunks)
        sum += RowBlock::dotChunks(Tile::template loadGlobal<typename Problem::OutputLayout>(output, chunk),
                                   Tile::template loadGlobal<typename Problem::OutputGradientLayout>(gradient, chunk));
    }
    return sum;
  }
};
