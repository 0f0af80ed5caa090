//===- attention_backward_queries.cuh - dQ of attention ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// A block computes dQ of `warps` · Rows::perWarp queries of a head. Keys and values come in tiles of `keysPerTile`, of
/// which `stages` are in shared memory.
///
/// Rows of dS sum to zero. Where D is that of a rounded output they sum to something else, the rest, by which D is too
/// small. What is left for others is right: D and the rest. And dQ = scale · dS · (K − k) for any k: with k = 0 the
/// rest would be multiplied by what all keys have in common, so k is their mean.
template <class Problem, class Rows, int warps, int keysPerTile, int stages, bool keepsRows>
class AttentionBackwardQueries {
  using Element = typename Rows::Element;
  using Tile = SharedTile<Element, Problem::headDim, Rows::granule>;
  using Scores = typename Rows::template Product<keysPerTile>;
  using Result = typename Rows::template Result<Tile::depth>;
  using Left = typename Rows::template Left<Tile, keepsRows>;

  /// Whether D is not that of the probabilities.
  static constexpr bool outputIsRounded = sizeof(Element) == 2;
  using Mean = MeanOfKeys<Rows, Tile, 32 * warps, keysPerTile, outputIsRounded>;

  static constexpr int queriesPerTile = warps * Rows::perWarp;
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int tileBytes = keysPerTile * Tile::pitch, rowBytes = queriesPerTile * Tile::pitch;
  static constexpr int scratchBytes = Rows::template scratchBytes<keysPerTile>;
  static constexpr float scale = Problem::scale * log2OfE;
  static_assert(stages >= 2);

public:
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = Problem::batches * Problem::queryHeads * queryTiles;
  static constexpr int sharedBytes = 2 * rowBytes + 2 * stages * tileBytes + warps * scratchBytes;

  /// `rowSums` gets D, of batches, heads and queries in this order.
  __device__ static void run(const Element *queries, const Element *keys, const Element *values, const Element *output,
                             const float *logSumExp, const Element *outputGradient, Element *queryGradient,
                             float *rowSums) {
    const auto place = TileOfHead<queryTiles, queriesPerTile, Problem::queryHeads, Problem::isCausal>::ofBlock(
        blockIdx.x, Problem::batches);
    const int firstQuery = place.first, head = place.head, batch = place.batch;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const Element *keysOfHead = Problem::KeyLayout::getVectors(keys, batch, head / group, 0);
    const Element *valuesOfHead = Problem::ValueLayout::getVectors(values, batch, head / group, 0);
    const int endQuery = firstQuery + queriesPerTile;
    const int tiles = countTiles(Problem::isCausal && endQuery < Problem::keys ? endQuery : Problem::keys, keysPerTile);

    const int warp = threadIdx.x / 32, ownFirst = firstQuery + warp * Rows::perWarp;
    const unsigned queryTile = getSharedMemory(), gradientTile = queryTile + rowBytes;
    const unsigned keyTiles = gradientTile + rowBytes, valueTiles = keyTiles + stages * tileBytes;
    const unsigned scratch = valueTiles + stages * tileBytes + warp * scratchBytes;
    const unsigned ownQueries = queryTile + warp * Rows::perWarp * Tile::pitch, ownGradients = ownQueries + rowBytes;
    auto load = [&](int tile) {
      if (tile < tiles) {
        const int first = tile * keysPerTile, offset = tile % stages * tileBytes;
        Tile::template load<typename Problem::KeyLayout, threads, keysPerTile>(
            keyTiles + offset, keysOfHead + first * Problem::KeyLayout::stride, Problem::keys - first);
        Tile::template load<typename Problem::ValueLayout, threads, keysPerTile>(
            valueTiles + offset, valuesOfHead + first * Problem::ValueLayout::stride, Problem::keys - first);
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

    float sums[Rows::perLane], logSums[Rows::perLane];
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i) {
      const int query = ownFirst + Scores::getRow(i);
      const bool exists = query < Problem::queries;
      logSums[i] = exists ? *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query) * log2OfE : infinity();
      sums[i] = reduceWarp<Rows::lanesPerRow>(
          exists ? addProducts(Problem::OutputLayout::getVectors(output, batch, head, query),
                               Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, query))
                 : 0,
          [](float a, float b) { return a + b; });
    }

    Result result;
    Rows::clear(result);
    [[maybe_unused]] Mean mean;
    float rests[Rows::perLane] = {};
    waitForCopies<stages - 2>();
    __syncthreads();
    const Left left(ownQueries), leftGradient(ownGradients);
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      if (tile != 0) {
        waitForCopies<stages - 2>();
        __syncthreads();
      }
      load(tile + stages - 1);
      const int firstKey = tile * keysPerTile, endKey = firstKey + keysPerTile, offset = tile % stages * tileBytes;
      if constexpr (outputIsRounded)
        mean.add(keyTiles + offset);
      if (Problem::isCausal && firstKey >= ownFirst + Rows::perWarp)
        continue;
      Scores scores, gradients;
      Rows::multiplyByRows(scores, left, keyTiles + offset);
      if (endKey > Problem::keys || (Problem::isCausal && endKey > ownFirst + 1))
        hideScores<Problem::isCausal, false>(scores, ownFirst, firstKey, Problem::keys);
      Rows::multiplyByRows(gradients, leftGradient, valueTiles + offset);
#pragma unroll
      for (int i = 0; i < Rows::perLane; ++i)
#pragma unroll
        for (int j = 0; j < Scores::perRow; ++j) {
          gradients.values[i][j] =
              exp2Approximate(fmaf(scores.values[i][j], scale, -logSums[i])) * (gradients.values[i][j] - sums[i]);
          if constexpr (outputIsRounded)
            rests[i] += gradients.values[i][j];
        }
      Rows::template addProduct<Tile>(result, gradients, keyTiles + offset, 0, scratch);
    }
#pragma unroll
    for (int i = 0; i < Rows::perLane; ++i) {
      if constexpr (outputIsRounded)
        rests[i] = reduceWarp<Rows::lanesPerRow>(rests[i], [](float a, float b) { return a + b; });
      const int query = ownFirst + Scores::getRow(i);
      if (query < Problem::queries && threadIdx.x % Rows::lanesPerRow == 0)
        rowSums[(batch * Problem::queryHeads + head) * Problem::queries + query] = sums[i] + rests[i];
    }
    if constexpr (outputIsRounded) {
      mean.write(keyTiles, tiles, Problem::keys);
#pragma unroll
      for (int i = 0; i < Rows::perLane; ++i)
#pragma unroll
        for (int j = 0; j < Result::perRow; ++j)
          result.values[i][j] -= rests[i] * Mean::get(keyTiles, Result::getColumn(j));
    }
    writeResult<Rows, Tile, typename Problem::QueryGradientLayout>(result, Problem::scale, ownQueries, queryGradient,
                                                                   batch, head, ownFirst, Problem::queries, 0);
  }

private:
  /// A lane's part of the sum of a row's products.
  __device__ static float addProducts(const Element *output, const Element *gradient) {
    constexpr int lanes = Rows::lanesPerRow;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < (Tile::fullChunks + lanes - 1) / lanes; ++i) {
      const int chunk = i * lanes + threadIdx.x % lanes, element = chunk * Tile::elementsPerChunk;
      if (Tile::fullChunks % lanes == 0 || chunk < Tile::fullChunks)
        sum += Rows::multiplyChunks(loadChunk<Problem::OutputLayout::bytes>(output + element),
                                    loadChunk<Problem::OutputGradientLayout::bytes>(gradient + element));
    }
    return sum;
  }
};
