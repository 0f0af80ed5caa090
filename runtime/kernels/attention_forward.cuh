//===- attention_forward.cuh - softmax(scale · Q · Kᵀ) · V ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes `warps` · Rows::perWarp rows of a head's output. Keys and values come in tiles of `keysPerTile`, of
/// which `stages` are in shared memory; with one stage, values are copied while scores are computed, and the next keys
/// while the output is. Softmax is online: what was added up so far is scaled down when a much larger score appears.
template <class Problem, class Rows, int warps, int keysPerTile, int stages, bool keepsQueries>
class AttentionForward {
  using Element = typename Rows::Element;
  using Tile = SharedTile<Element, Problem::headDim, Rows::granule>;
  using Scores = typename Rows::template Product<keysPerTile>;
  using Result = typename Rows::template Result<Tile::depth>;

  static constexpr int queriesPerTile = warps * Rows::perWarp;
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = keysPerTile * Tile::pitch;
  static constexpr int scratchBytes = Rows::template scratchBytes<keysPerTile>;
  static constexpr float scale = Problem::scale * log2OfE;
  /// What is added up may be that many powers of two larger than with the largest score subtracted.
  static constexpr float maxGrowth = 8;

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::queryHeads * queryTiles;
  static constexpr int sharedBytes = queriesPerTile * Tile::pitch + 2 * stages * tileBytes + warps * scratchBytes;

  /// `logSumExp` may be null.
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, Element *output,
                             float *logSumExp) {
    const auto place = TileOfHead<queryTiles, queriesPerTile, Problem::queryHeads, Problem::isCausal>::ofBlock(
        blockIdx.x, Problem::batches);
    AttentionForward(place.first, place.head, place.batch, keys, values).run(queries, output, logSumExp);
  }

private:
  __device__ AttentionForward(int firstQuery, int head, int batch, const Element *keys, const Element *values)
      : firstQuery(firstQuery), head(head), batch(batch) {
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    this->keys = Problem::KeyLayout::getVectors(keys, batch, head / group, 0);
    this->values = Problem::ValueLayout::getVectors(values, batch, head / group, 0);
    const int end = firstQuery + queriesPerTile;
    tiles = countTiles(Problem::isCausal && end < Problem::keys ? end : Problem::keys, keysPerTile);
    const int warp = threadIdx.x / 32;
    queryTile = getSharedMemory();
    ownQueries = queryTile + warp * Rows::perWarp * Tile::pitch;
    keyTiles = queryTile + queriesPerTile * Tile::pitch;
    valueTiles = keyTiles + stages * tileBytes;
    scratch = valueTiles + stages * tileBytes + warp * scratchBytes;
    ownFirst = firstQuery + warp * Rows::perWarp;
  }

  __device__ void loadKeys(int tile) {
    if (tile < tiles)
      Tile::template load<typename Problem::KeyLayout, threads, keysPerTile>(
          keyTiles + tile % stages * tileBytes, keys + tile * keysPerTile * Problem::KeyLayout::stride,
          Problem::keys - tile * keysPerTile);
    commitCopies();
  }
  __device__ void loadValues(int tile) {
    if (tile < tiles)
      Tile::template load<typename Problem::ValueLayout, threads, keysPerTile>(
          valueTiles + tile % stages * tileBytes, values + tile * keysPerTile * Problem::ValueLayout::stride,
          Problem::keys - tile * keysPerTile);
    commitCopies();
  }

  /// Waits for the keys of the tile, and starts to copy what may be written over.
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

  /// Makes scores the exponentials of their differences to what stands for the largest of their row.
  __device__ void exponentiate(Scores &scores, Result &result) {
    float found[Rows::perLane];
    bool isFar = false;
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i) {
      found[i] = scores.values[i][0];
#pragma unroll
      for (int j = 1; j < Scores::perRow; ++j)
        found[i] = fmaxf(found[i], scores.values[i][j]);
      found[i] = scale * reduceWarp<Rows::lanesPerRow>(found[i], [](float a, float b) { return fmaxf(a, b); });
      isFar |= found[i] > largests[i] + maxGrowth;
    }
    if (__any_sync(0xffffffffu, isFar))
      scaleDown(found, result);
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i)
#pragma unroll
      for (int j = 0; j < Scores::perRow; ++j) {
        scores.values[i][j] = exp2Approximate(fmaf(scores.values[i][j], scale, -largests[i]));
        sums[i] += scores.values[i][j];
      }
  }

  /// Makes `largests` at least `found`.
  __device__ void scaleDown(const float (&found)[Rows::perLane], Result &result) {
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i) {
      const float largest = fmaxf(largests[i], found[i]), factor = exp2Approximate(largests[i] - largest);
      largests[i] = largest;
      sums[i] *= factor;
#pragma unroll
      for (int j = 0; j < Result::perRow; ++j)
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
    for (int i = 0; i < Rows::perLane; ++i) {
      largests[i] = -infinity();
      sums[i] = 0;
    }
    Result result;
    Rows::clear(result);

    awaitKeys(0);
    const typename Rows::template Left<Tile, keepsQueries> left(ownQueries);
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      const int firstKey = tile * keysPerTile;
      // Of a causal tile on the diagonal, some warps see nothing.
      const bool isSeen = !Problem::isCausal || firstKey < ownFirst + Rows::perWarp;
      if (tile != 0)
        awaitKeys(tile);
      Scores scores;
      if (isSeen)
        Rows::multiplyByRows(scores, left, keyTiles + tile % stages * tileBytes);
      awaitValues(tile);
      if (!isSeen)
        continue;
      const int end = firstKey + keysPerTile;
      if (end > Problem::keys || (Problem::isCausal && end > ownFirst + 1))
        hideScores<Problem::isCausal, false>(scores, ownFirst, firstKey, Problem::keys);
      exponentiate(scores, result);
      Rows::template addProduct<Tile>(result, scores, valueTiles + tile % stages * tileBytes, 0, scratch);
    }
    finish(result, output, logSumExp);
  }

  __device__ void finish(Result &result, Element *output, float *logSumExp) {
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i) {
      const float sum = reduceWarp<Rows::lanesPerRow>(sums[i], [](float a, float b) { return a + b; });
      const float factor = 1 / sum;
#pragma unroll
      for (int j = 0; j < Result::perRow; ++j)
        result.values[i][j] *= factor;
      const int query = ownFirst + result.getRow(i);
      if (logSumExp && threadIdx.x % Rows::lanesPerRow == 0 && query < Problem::queries)
        *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query) = (largests[i] + log2f(sum)) / log2OfE;
    }
    // Only this warp has read the queries of these rows.
    __syncwarp();
    Rows::template write<Tile>(ownQueries, result, 0);
    __syncwarp();
    Tile::template store<typename Problem::OutputLayout, Rows::perWarp, Tile::depth>(
        Problem::OutputLayout::getVectors(output, batch, head, ownFirst), ownQueries, Problem::queries - ownFirst);
  }

  const int firstQuery, head, batch;
  const Element *keys, *values;
  /// The key tiles that some query of the block sees.
  int tiles;
  unsigned queryTile, keyTiles, valueTiles;
  /// The warp's.
  unsigned ownQueries, scratch;
  int ownFirst;
  /// By row, in units of the exponent: a score that no score so far is larger than by more than maxGrowth; and a lane's
  /// part of the sum of exponentials.
  float largests[Rows::perLane], sums[Rows::perLane];
};
