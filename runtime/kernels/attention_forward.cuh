//===- attention_forward.cuh - softmax(scale · Q · Kᵀ) · V ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes `warps` · RowBlock::perWarp rows of a head's output. Keys and values come in tiles of
/// `keysPerTile`, of which `stages` are in shared memory. With one stage, the values are copied while the scores are
/// computed, and the next keys while the output is computed. Softmax is online: the sums so far are rescaled when a
/// much larger score appears.
template <class Problem, class RowBlock, int warps, int keysPerTile, int stages, bool keepsQueries>
class AttentionForward {
  using Element = typename RowBlock::Element;
  using Tile = SharedTile<Element, Problem::headDim, RowBlock::depthMultiple>;
  using Scores = typename RowBlock::template Accumulator<keysPerTile>;
  using Result = typename RowBlock::template Result<Tile::depth>;

  static constexpr int queriesPerTile = warps * RowBlock::perWarp;
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = keysPerTile * Tile::pitch;
  static constexpr int stagingBytes = RowBlock::template stagingBytes<keysPerTile>;
  static constexpr float scale = scaleOfScores<Problem>;
  using Score = ScoreOf<Problem>;
  /// A score may exceed the reference of its row by this many powers of two before the sums are rescaled. Numbers of 16
  /// bits have the smallest relative error just below 1, where the exponentials of large scores are without this
  /// margin.
  static constexpr float maxGrowth = sizeof(Element) == 2 ? 0 : 8;

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::queryHeads * queryTiles;
  static constexpr int sharedBytes = queriesPerTile * Tile::pitch + 2 * stages * tileBytes + warps * stagingBytes;

  /// Computes the block's tile. `logSumExp` may be null.
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, Element *output,
                             float *logSumExp, const Score &score = {}) {
    const auto origin = HeadTile<queryTiles, queriesPerTile, Problem::queryHeads, seesMostLast<Problem>()>::fromBlock(
        blockIdx.x, Problem::batches);
    AttentionForward(origin.first, origin.head, origin.batch, keys, values, score).run(queries, output, logSumExp);
  }

private:
  __device__ AttentionForward(int firstQuery, int head, int batch, const Element *keys, const Element *values,
                              const Score &score)
      : firstQuery(firstQuery), head(head), batch(batch), score(score) {
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    this->keys = Problem::KeyLayout::getVectors(keys, batch, head / group, 0);
    this->values = Problem::ValueLayout::getVectors(values, batch, head / group, 0);
    const auto visible = KeyTiles::find<Problem>(firstQuery, firstQuery + queriesPerTile, keysPerTile);
    tiles = visible.end - visible.first;
    if constexpr (Score::exists) {
      skippedKeys = visible.first * keysPerTile;
      this->keys += skippedKeys * Problem::KeyLayout::stride;
      this->values += skippedKeys * Problem::ValueLayout::stride;
    }
    const int warp = threadIdx.x / 32;
    queryTile = getSharedMemory();
    ownQueries = queryTile + warp * RowBlock::perWarp * Tile::pitch;
    keyTiles = queryTile + queriesPerTile * Tile::pitch;
    valueTiles = keyTiles + stages * tileBytes;
    staging = valueTiles + stages * tileBytes + warp * stagingBytes;
    ownFirst = firstQuery + warp * RowBlock::perWarp;
  }

  /// Returns the number of keys from the tile on.
  __device__ int countKeys(int tile) const {
    int count = Problem::keys - tile * keysPerTile;
    if constexpr (Score::exists)
      count -= skippedKeys;
    return count;
  }

  __device__ void loadKeys(int tile) {
    if (tile < tiles)
      Tile::template load<typename Problem::KeyLayout, threads, keysPerTile>(
          keyTiles + tile % stages * tileBytes, keys + tile * keysPerTile * Problem::KeyLayout::stride,
          countKeys(tile));
    commitCopies();
  }
  __device__ void loadValues(int tile) {
    if (tile < tiles)
      Tile::template load<typename Problem::ValueLayout, threads, keysPerTile>(
          valueTiles + tile % stages * tileBytes, values + tile * keysPerTile * Problem::ValueLayout::stride,
          countKeys(tile));
    commitCopies();
  }

  /// Waits for the keys of the tile, and starts the copies into the stages that are free now.
  __device__ void awaitKeys(int tile) {
    waitForCopies<stages == 1 ? 0 : 2 * stages - 3>();
    __syncthreads();
    if constexpr (stages == 1) {
      loadValues(tile);
    } else {
      loadKeys(tile + stages - 1);
      loadValues(tile + stages - 1);
    }
  }
  __device__ void awaitValues(int tile) {
    waitForCopies<2 * (stages - 1)>();
    __syncthreads();
    if constexpr (stages == 1)
      loadKeys(tile + 1);
  }

  /// Replaces each score by the exponential of its difference to the reference of its row.
  __device__ void exponentiate(Scores &scores, Result &result) {
    float tileMaxima[RowBlock::perLane];
    bool needsRescaling = false;
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      tileMaxima[i] = scores.values[i][0];
#pragma unroll
      for (int j = 1; j < Scores::valuesPerRow; ++j)
        tileMaxima[i] = fmaxf(tileMaxima[i], scores.values[i][j]);
      tileMaxima[i] =
          scale * reduceWarp<RowBlock::lanesPerRow>(tileMaxima[i], [](float a, float b) { return fmaxf(a, b); });
      needsRescaling |= tileMaxima[i] > references[i] + maxGrowth;
    }
    if (__any_sync(0xffffffffu, needsRescaling))
      rescale(tileMaxima, result);
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      const float reference = shiftBy<Problem>(references[i]);
#pragma unroll
      for (int j = 0; j < Scores::valuesPerRow; ++j) {
        scores.values[i][j] = exp2Approximate(fmaf(scores.values[i][j], scale, -reference));
        sums[i] += scores.values[i][j];
      }
    }
  }

  /// Raises the references of rows to at least `tileMaxima`, and rescales the sums and the result accordingly.
  __device__ void rescale(const float (&tileMaxima)[RowBlock::perLane], Result &result) {
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      const float largest = fmaxf(references[i], tileMaxima[i]),
                  factor = exp2Approximate(references[i] - shiftBy<Problem>(largest));
      references[i] = largest;
      sums[i] *= factor;
#pragma unroll
      for (int j = 0; j < Result::valuesPerRow; ++j)
        result.values[i][j] *= factor;
    }
  }

  __device__ void run(const Element *queries, Element *output, float *logSumExp) {
    Tile::template load<typename Problem::QueryLayout, threads, queriesPerTile>(
        queryTile, Problem::QueryLayout::getVectors(queries, batch, head, firstQuery), Problem::queries - firstQuery);
    loadKeys(0);
    if constexpr (stages > 1)
      loadValues(0);
#pragma unroll
    for (int tile = 1; tile < stages - 1; ++tile) {
      loadKeys(tile);
      loadValues(tile);
    }
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      references[i] = -infinity();
      sums[i] = 0;
    }
    Result result;
    RowBlock::clear(result);

    awaitKeys(0);
    const typename RowBlock::template LeftFragment<Tile, keepsQueries> left(ownQueries);
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      int firstKey = tile * keysPerTile;
      if constexpr (Score::exists)
        firstKey += skippedKeys;
      // In a tile at the border of the visible keys, all scores of some warps are masked.
      const bool isSeen =
          VisiblePairs<Problem>::canSee(ownFirst, ownFirst + RowBlock::perWarp, firstKey, firstKey + keysPerTile);
      if (tile != 0)
        awaitKeys(tile);
      Scores scores;
      if (isSeen)
        RowBlock::multiplyTransposed(scores, left, keyTiles + tile % stages * tileBytes);
      awaitValues(tile);
      if (!isSeen)
        continue;
      const int end = firstKey + keysPerTile;
      if constexpr (Score::exists) {
        NoDerivatives none;
        applyScoreFunction<Problem, false, RowBlock::perWarp>(score, scores, none, ownFirst, firstKey, batch, head);
      } else if (end > Problem::keys || (Problem::isCausal && end > ownFirst + 1)) {
        maskScores<Problem::isCausal, false>(scores, ownFirst, firstKey, Problem::keys);
      }
      exponentiate(scores, result);
      RowBlock::template multiplyAccumulate<Tile>(result, scores, valueTiles + tile % stages * tileBytes, 0, staging);
    }
    finish(result, output, logSumExp);
  }

  __device__ void finish(Result &result, Element *output, float *logSumExp) {
#pragma unroll
    for (int i = 0; i < RowBlock::perLane; ++i) {
      const float sum = reduceWarp<RowBlock::lanesPerRow>(sums[i], [](float a, float b) { return a + b; });
      const float factor = invertSum<Problem>(sum);
#pragma unroll
      for (int j = 0; j < Result::valuesPerRow; ++j)
        result.values[i][j] *= factor;
      const int query = ownFirst + result.getRow(i);
      if (logSumExp && threadIdx.x % RowBlock::lanesPerRow == 0 && query < Problem::queries)
        *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query) = (references[i] + log2f(sum)) / log2OfE;
    }
    // Only this warp has read these rows of the query tile.
    __syncwarp();
    RowBlock::template write<Tile>(ownQueries, result, 0);
    __syncwarp();
    Tile::template store<typename Problem::OutputLayout, RowBlock::perWarp, Tile::depth>(
        Problem::OutputLayout::getVectors(output, batch, head, ownFirst), ownQueries, Problem::queries - ownFirst);
  }

  const int firstQuery, head, batch;
  const Score score;
  const Element *keys, *values;
  /// The number of key tiles that some query of the block sees, and the keys before them.
  int tiles, skippedKeys;
  unsigned queryTile, keyTiles, valueTiles;
  /// Addresses of the warp's queries and of its staging memory, and the warp's first query.
  unsigned ownQueries, staging;
  int ownFirst;
  /// Per row: the reference, in units of the exponent, which no score so far exceeds by more than maxGrowth; and a
  /// lane's part of the sum of exponentials.
  float references[RowBlock::perLane], sums[RowBlock::perLane];
};
