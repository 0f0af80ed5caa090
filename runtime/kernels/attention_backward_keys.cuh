//===- attention_backward_keys.cuh - dK and dV of attention -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes dK and dV of `warps` · Rows::perWarp keys of a head of keys, for all heads of queries that share
/// it; where the registers do not hold that, one of `slices` parts of the columns. Rows of scores are keys here.
/// Queries and gradients come in tiles of `queriesPerTile`, of which `stages` are in shared memory.
template <class Problem, class Rows, int warps, int queriesPerTile, int stages, bool keepsRows, int slices>
class AttentionBackwardKeys {
  using Element = typename Rows::Element;
  using Tile = SharedTile<Element, Problem::headDim, Rows::granule * slices>;
  using Scores = typename Rows::template Product<queriesPerTile>;
  using Left = typename Rows::template Left<Tile, keepsRows>;

  static constexpr int columns = Tile::depth / slices;
  using Result = typename Rows::template Result<columns>;

  static constexpr int keysPerTile = warps * Rows::perWarp;
  static constexpr int keyTiles = countTiles(Problem::keys, keysPerTile);
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = queriesPerTile * Tile::pitch, rowBytes = keysPerTile * Tile::pitch;
  static constexpr int scratchBytes = Rows::template scratchBytes<queriesPerTile>;
  static constexpr int sumBytes = queriesPerTile * static_cast<int>(sizeof(float));
  static constexpr float scale = Problem::scale * log2OfE;
  static_assert(stages >= 2 && Tile::depth % slices == 0);

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::keyHeads * slices * keyTiles;
  static constexpr int sharedBytes = 2 * rowBytes + stages * 2 * (tileBytes + sumBytes) + warps * scratchBytes;

  /// `rowSums` is what AttentionBackwardQueries has written.
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, const float *logSumExp,
                             const Element *outputGradient, Element *keyGradient, Element *valueGradient,
                             const float *rowSums) {
    const auto place =
        TileOfHead<keyTiles, keysPerTile, Problem::keyHeads * slices, false>::ofBlock(blockIdx.x, Problem::batches);
    const int firstKey = place.first, batch = place.batch;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const int head = place.head / slices, firstColumn = place.head % slices * columns;
    // Causal: queries before a key do not see it.
    const int skipped = Problem::isCausal ? firstKey / queriesPerTile : 0;
    const int perHead = skipped < queryTiles ? queryTiles - skipped : 0, steps = group * perHead;

    const int warp = threadIdx.x / 32, ownFirst = firstKey + warp * Rows::perWarp;
    const unsigned keyTile = getSharedMemory(), valueTile = keyTile + rowBytes;
    const unsigned queryRing = valueTile + rowBytes, gradientRing = queryRing + stages * tileBytes;
    const unsigned sumRing = gradientRing + stages * tileBytes, logSumRing = sumRing + stages * sumBytes;
    const unsigned scratch = logSumRing + stages * sumBytes + warp * scratchBytes;
    const unsigned ownKeys = keyTile + warp * Rows::perWarp * Tile::pitch, ownValues = ownKeys + rowBytes;
    auto load = [&](int step) {
      if (step < steps) {
        const int queryHead = head * group + step / perHead, first = (skipped + step % perHead) * queriesPerTile;
        const int stage = step % stages, existing = Problem::queries - first;
        Tile::template load<typename Problem::QueryLayout, threads, queriesPerTile>(
            queryRing + stage * tileBytes, Problem::QueryLayout::getVectors(queries, batch, queryHead, first),
            existing);
        Tile::template load<typename Problem::OutputGradientLayout, threads, queriesPerTile>(
            gradientRing + stage * tileBytes,
            Problem::OutputGradientLayout::getVectors(outputGradient, batch, queryHead, first), existing);
        const float *sums = rowSums + (batch * Problem::queryHeads + queryHead) * Problem::queries + first;
        const float *logSums = Problem::LogSumExpLayout::getVectors(logSumExp, batch, queryHead, first);
        for (int i = threadIdx.x; i < queriesPerTile; i += threads) {
          copyAsync<4>(sumRing + stage * sumBytes + i * 4, sums + i, i < existing);
          copyAsync<4>(logSumRing + stage * sumBytes + i * 4, logSums + i * Problem::LogSumExpLayout::stride,
                       i < existing);
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
    Rows::clear(keyResult);
    Rows::clear(valueResult);
    waitForCopies<stages - 2>();
    __syncthreads();
    const Left left(ownKeys), leftValues(ownValues);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      if (step != 0) {
        waitForCopies<stages - 2>();
        __syncthreads();
      }
      load(step + stages - 1);
      const int firstQuery = (skipped + step % perHead) * queriesPerTile, stage = step % stages;
      const unsigned queryTile = queryRing + stage * tileBytes, gradientTile = gradientRing + stage * tileBytes;
      if (Problem::isCausal && firstQuery + queriesPerTile <= ownFirst)
        continue;
      Scores scores, gradients;
      Rows::multiplyByRows(scores, left, queryTile);
      // Queries that do not exist have zeros for everything, and add zeros.
      if (Problem::isCausal && firstQuery < ownFirst + Rows::perWarp - 1)
        hideScores<true, true>(scores, ownFirst, firstQuery, Problem::keys);
      Rows::multiplyByRows(gradients, leftValues, gradientTile);
#pragma unroll
      for (int j = 0; j < Scores::perRow; ++j) {
        const int offset = stage * sumBytes + Scores::getColumn(j) * 4;
        const float sum = __uint_as_float(loadSharedWord(sumRing + offset));
        const float logSum = __uint_as_float(loadSharedWord(logSumRing + offset)) * log2OfE;
#pragma unroll
        for (int i = 0; i < Rows::perLane; ++i) {
          scores.values[i][j] = exp2Approximate(fmaf(scores.values[i][j], scale, -logSum));
          gradients.values[i][j] = scores.values[i][j] * (gradients.values[i][j] - sum);
        }
      }
      Rows::template addProduct<Tile>(valueResult, scores, gradientTile, firstColumn, scratch);
      Rows::template addProduct<Tile>(keyResult, gradients, queryTile, firstColumn, scratch);
    }
    writeResult<Rows, Tile, typename Problem::KeyGradientLayout>(keyResult, Problem::scale, ownKeys, keyGradient, batch,
                                                                 head, ownFirst, Problem::keys, firstColumn);
    writeResult<Rows, Tile, typename Problem::ValueGradientLayout>(valueResult, 1, ownValues, valueGradient, batch,
                                                                   head, ownFirst, Problem::keys, firstColumn);
  }
};
