//===- attention_backward_keys.cuh - dK and dV of attention -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes dK and dV of `warps` · Rows::perWarp keys of a head of keys, for all heads of queries that share
/// it; where the registers do not hold that, one of `slices` parts of the columns. Rows of scores are keys here.
/// Queries and gradients come in tiles of `queriesPerTile`, of which `stages` are in shared memory; with `addsRows` the
/// output, too, from which the block computes D.
template <class Problem, class Rows, int warps, int queriesPerTile, int stages, bool keepsRows, int slices,
          bool addsRows>
class AttentionBackwardKeys {
public:
  using Element = typename Rows::Element;

private:
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
  static constexpr int sharedBytes =
      2 * rowBytes + stages * ((addsRows ? 3 : 2) * tileBytes + 2 * sumBytes) + warps * scratchBytes;

  /// Needs `output`, or `rowSums` that AttentionBackwardQueries has written.
  __device__ static void run(int block, const Element *queries, const Element *keys, const Element *values,
                             const Element *output, const float *logSumExp, const Element *outputGradient,
                             const float *rowSums, Element *keyGradient, Element *valueGradient) {
    const auto place =
        TileOfHead<keyTiles, keysPerTile, Problem::keyHeads * slices, false>::ofBlock(block, Problem::batches);
    const int firstKey = place.first, batch = place.batch;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const int head = place.head / slices, firstColumn = place.head % slices * columns;
    // Causal: queries before a key do not see it.
    const int skipped = Problem::isCausal ? firstKey / queriesPerTile : 0;
    const int perHead = skipped < queryTiles ? queryTiles - skipped : 0, steps = group * perHead;

    const int warp = threadIdx.x / 32, ownFirst = firstKey + warp * Rows::perWarp;
    const unsigned keyTile = getSharedMemory(), valueTile = keyTile + rowBytes;
    const unsigned queryRing = valueTile + rowBytes, gradientRing = queryRing + stages * tileBytes;
    const unsigned outputRing = gradientRing + stages * tileBytes;
    const unsigned sumRing = outputRing + (addsRows ? stages * tileBytes : 0), logSumRing = sumRing + stages * sumBytes;
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
        if constexpr (addsRows)
          Tile::template load<typename Problem::OutputLayout, threads, queriesPerTile>(
              outputRing + stage * tileBytes, Problem::OutputLayout::getVectors(output, batch, queryHead, first),
              existing);
        const float *sums = rowSums + (batch * Problem::queryHeads + queryHead) * Problem::queries + first;
        const float *logSums = Problem::LogSumExpLayout::getVectors(logSumExp, batch, queryHead, first);
        for (int i = threadIdx.x; i < queriesPerTile; i += threads) {
          if constexpr (!addsRows)
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
      const bool isSeen = !Problem::isCausal || firstQuery + queriesPerTile > ownFirst;
      if constexpr (addsRows)
        addRows(outputRing + stage * tileBytes, gradientTile, sumRing + stage * sumBytes);
      Scores scores, gradients;
      if (isSeen) {
        Rows::multiplyByRows(scores, left, queryTile);
        // Queries that do not exist have zeros for everything, and add zeros.
        if (Problem::isCausal && firstQuery < ownFirst + Rows::perWarp - 1)
          hideScores<true, true>(scores, ownFirst, firstQuery, Problem::keys);
        Rows::multiplyByRows(gradients, leftValues, gradientTile);
      }
      if constexpr (addsRows)
        __syncthreads();
      if (!isSeen)
        continue;
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

private:
  /// Writes the sums of the products of a tile's output and gradient.
  __device__ static void addRows(unsigned outputTile, unsigned gradientTile, unsigned sums) {
    constexpr int lanes = threads / queriesPerTile < 32 ? threads / queriesPerTile : 32;
    static_assert(lanes > 0 && threads % queriesPerTile == 0, "neighbouring threads share a row");
#pragma unroll
    for (int pass = 0; pass < queriesPerTile * lanes / threads; ++pass) {
      const int row = (pass * threads + threadIdx.x) / lanes;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < (Tile::fullChunks + lanes - 1) / lanes; ++i) {
        const int chunk = i * lanes + threadIdx.x % lanes;
        if (Tile::fullChunks % lanes == 0 || chunk < Tile::fullChunks)
          sum += Rows::multiplyChunks(loadSharedChunk(outputTile + Tile::getOffset(row, chunk)),
                                      loadSharedChunk(gradientTile + Tile::getOffset(row, chunk)));
      }
      sum = reduceWarp<lanes>(sum, [](float a, float b) { return a + b; });
      if (threadIdx.x % lanes == 0)
        storeSharedWord(sums + row * 4, __float_as_uint(sum));
    }
  }
};

/// All gradients, by the blocks of `Keys` and then those of `Queries`.
template <class Queries, class Keys>
struct AttentionBackward {
  using Element = typename Keys::Element;
  static constexpr int threads = Keys::threads;
  static constexpr int blocks = Keys::blocks + Queries::blocks;
  static constexpr int sharedBytes =
      Keys::sharedBytes > Queries::sharedBytes ? Keys::sharedBytes : Queries::sharedBytes;
  static_assert(Queries::threads == threads);

  __device__ static void run(const Element *queries, const Element *keys, const Element *values, const Element *output,
                             const float *logSumExp, const Element *outputGradient, Element *queryGradient,
                             Element *keyGradient, Element *valueGradient) {
    const int block = blockIdx.x;
    if (block < Keys::blocks)
      Keys::run(block, queries, keys, values, output, logSumExp, outputGradient, nullptr, keyGradient, valueGradient);
    else
      Queries::run(block - Keys::blocks, queries, keys, values, output, logSumExp, outputGradient, queryGradient,
                   nullptr);
  }
};
