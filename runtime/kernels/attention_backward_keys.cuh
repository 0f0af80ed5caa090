//===- attention_backward_keys.cuh - dK and dV of attention -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes dK and dV of `warps` · RowBlock::perWarp keys of a key head, summed over all query heads that
/// share it. If registers do not hold all columns, a block computes one of `slices` parts of them. Rows of the scores
/// are keys here. Queries and gradients come in tiles of `queriesPerTile`, of which `stages` are in shared memory.
template <class Problem, class RowBlock, int warps, int queriesPerTile, int stages, bool keepsLeft, int slices>
class AttentionBackwardKeys {
  using Element = typename RowBlock::Element;
  using Tile = SharedTile<Element, Problem::headDim, RowBlock::depthMultiple * slices>;
  using Scores = typename RowBlock::template Accumulator<queriesPerTile>;
  using LeftFragment = typename RowBlock::template LeftFragment<Tile, keepsLeft>;

  static constexpr int columns = Tile::depth / slices;
  using Result = typename RowBlock::template Result<columns>;

  static constexpr int keysPerTile = warps * RowBlock::perWarp;
  static constexpr int keyTiles = countTiles(Problem::keys, keysPerTile);
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = queriesPerTile * Tile::pitch, ownTileBytes = keysPerTile * Tile::pitch;
  static constexpr int stagingBytes = RowBlock::template stagingBytes<queriesPerTile>;
  static constexpr int sumBytes = queriesPerTile * static_cast<int>(sizeof(float));
  static constexpr float scale = scaleOfScores<Problem>;
  using Score = ScoreOf<Problem>;
  using Derivatives = typename SelectDerivatives<Score, Scores>::Type;
  static_assert(stages >= 2 && Tile::depth % slices == 0);

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::keyHeads * slices * keyTiles;
  static constexpr int sharedBytes = 2 * ownTileBytes + stages * 2 * (tileBytes + sumBytes) + warps * stagingBytes;

  /// `rowSums` holds D as AttentionBackwardQueries has stored it.
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, const float *logSumExp,
                             const Element *outputGradient, Element *keyGradient, Element *valueGradient,
                             const float *rowSums, const Score &score = {}) {
    const auto origin =
        HeadTile<keyTiles, keysPerTile, Problem::keyHeads * slices, false>::fromBlock(blockIdx.x, Problem::batches);
    const int firstKey = origin.first, batch = origin.batch;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const int head = origin.head / slices, firstColumn = origin.head % slices * columns;
    // In causal attention, queries before a key do not see it.
    const int skipped = VisiblePairs<Problem>::getFirstQuery(firstKey) / queriesPerTile;
    const int endTile = countTiles(VisiblePairs<Problem>::getEndQuery(firstKey + keysPerTile), queriesPerTile);
    const int perHead = skipped < endTile ? endTile - skipped : 0, steps = group * perHead;

    const int warp = threadIdx.x / 32, ownFirst = firstKey + warp * RowBlock::perWarp;
    const unsigned keyTile = getSharedMemory(), valueTile = keyTile + ownTileBytes;
    const unsigned queryRing = valueTile + ownTileBytes, gradientRing = queryRing + stages * tileBytes;
    const unsigned sumRing = gradientRing + stages * tileBytes, logSumRing = sumRing + stages * sumBytes;
    const unsigned staging = logSumRing + stages * sumBytes + warp * stagingBytes;
    const unsigned ownKeys = keyTile + warp * RowBlock::perWarp * Tile::pitch, ownValues = ownKeys + ownTileBytes;
    auto load = [&](int step) {
      if (step < steps) {
        const int queryHead = head * group + step / perHead, first = (skipped + step % perHead) * queriesPerTile;
        const int stage = step % stages, validRows = Problem::queries - first;
        Tile::template load<typename Problem::QueryLayout, threads, queriesPerTile>(
            queryRing + stage * tileBytes, Problem::QueryLayout::getVectors(queries, batch, queryHead, first),
            validRows);
        Tile::template load<typename Problem::OutputGradientLayout, threads, queriesPerTile>(
            gradientRing + stage * tileBytes,
            Problem::OutputGradientLayout::getVectors(outputGradient, batch, queryHead, first), validRows);
        const float *sums = rowSums + (batch * Problem::queryHeads + queryHead) * Problem::queries + first;
        const float *logSums = Problem::LogSumExpLayout::getVectors(logSumExp, batch, queryHead, first);
        for (int i = threadIdx.x; i < queriesPerTile; i += threads) {
          copyAsync<4>(sumRing + stage * sumBytes + i * 4, sums + i, i < validRows);
          copyAsync<4>(logSumRing + stage * sumBytes + i * 4, logSums + i * Problem::LogSumExpLayout::stride,
                       i < validRows);
        }
      }
      commitCopies();
    };
    Tile::template load<typename Problem::KeyLayout, threads, keysPerTile>(
        keyTile, Problem::KeyLayout::getVectors(keys, batch, head, firstKey), Problem::keys - firstKey);
    Tile::template load<typename Problem::ValueLayout, threads, keysPerTile>(
        valueTile, Problem::ValueLayout::getVectors(values, batch, head, firstKey), Problem::keys - firstKey);
#pragma unroll
    for (int step = 0; step < stages - 1; ++step)
      load(step);

    Result keyResult, valueResult;
    RowBlock::clear(keyResult);
    RowBlock::clear(valueResult);
    waitForCopies<stages - 2>();
    __syncthreads();
    const LeftFragment left(ownKeys), leftValues(ownValues);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      if (step != 0) {
        waitForCopies<stages - 2>();
        __syncthreads();
      }
      load(step + stages - 1);
      const int firstQuery = (skipped + step % perHead) * queriesPerTile, stage = step % stages;
      const unsigned queryTile = queryRing + stage * tileBytes, gradientTile = gradientRing + stage * tileBytes;
      if (!VisiblePairs<Problem>::canSee(firstQuery, firstQuery + queriesPerTile, ownFirst,
                                         ownFirst + RowBlock::perWarp))
        continue;
      Scores scores, gradients;
      [[maybe_unused]] Derivatives derivatives;
      RowBlock::multiplyTransposed(scores, left, queryTile);
      // Rows past the last query are zeros in all tiles, and therefore add zeros.
      if constexpr (Score::exists)
        applyScoreFunction<Problem, true, RowBlock::perWarp>(score, scores, derivatives, ownFirst, firstQuery, batch,
                                                             head * group + step / perHead);
      else if (Problem::isCausal && firstQuery < ownFirst + RowBlock::perWarp - 1)
        maskScores<true, true>(scores, ownFirst, firstQuery, Problem::keys);
      RowBlock::multiplyTransposed(gradients, leftValues, gradientTile);
#pragma unroll
      for (int j = 0; j < Scores::valuesPerRow; ++j) {
        const int offset = stage * sumBytes + Scores::getColumn(j) * 4;
        const float sum = __uint_as_float(loadSharedWord(sumRing + offset));
        const float logSum = shiftBy<Problem>(__uint_as_float(loadSharedWord(logSumRing + offset))) * log2OfE;
#pragma unroll
        for (int i = 0; i < RowBlock::perLane; ++i) {
          scores.values[i][j] = exp2Approximate(fmaf(scores.values[i][j], scale, -logSum));
          gradients.values[i][j] = scores.values[i][j] * (gradients.values[i][j] - sum);
          if constexpr (hasDerivatives<Derivatives>)
            gradients.values[i][j] *= derivatives.values[i][j];
        }
      }
      RowBlock::template multiplyAccumulate<Tile>(valueResult, scores, gradientTile, firstColumn, staging);
      RowBlock::template multiplyAccumulate<Tile>(keyResult, gradients, queryTile, firstColumn, staging);
    }
    writeResult<RowBlock, Tile, typename Problem::KeyGradientLayout>(keyResult, Problem::scale, ownKeys, keyGradient,
                                                                     batch, head, ownFirst, Problem::keys, firstColumn);
    writeResult<RowBlock, Tile, typename Problem::ValueGradientLayout>(valueResult, 1, ownValues, valueGradient, batch,
                                                                       head, ownFirst, Problem::keys, firstColumn);
  }
};
