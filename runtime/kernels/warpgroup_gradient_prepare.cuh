//===- warpgroup_gradient_prepare.cuh - D, and the mean of keys -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Fills the workspace: the statistics of all queries, the means of keys, and zeros where blocks count. Each block
/// computes the statistics of a tile of queries, four threads per query, after the blocks that compute means. The tiles
/// that are needed first come last, so that the second-level cache still has their gradients.
template <class Problem, class Element>
class WarpgroupGradientPrepare {
  using Core = TensorCore<Element>;
  using Workspace = GradientWorkspace<Problem>;
  static constexpr int chunks = Problem::headDim / 8;
  /// The rows of a head that a mean is computed from: `rows` at a time, `rounds` times.
  static constexpr int maxSampled = 512;

public:
  static constexpr int threads = 4 * Workspace::queriesPerTile;
  static constexpr int means = Problem::batches * Problem::keyHeads;
  static constexpr long long blocks = means + Workspace::tiles;
  static constexpr int sharedBytes = 0;

  __device__ static void run(const Element *keys, const Element *output, const Element *outputGradient,
                             const float *logSumExp, unsigned char *memory, const ScoreOf<Problem> &score = {}) {
    const Workspace workspace{memory};
    if (blockIdx.x < means) {
      average(keys, workspace, blockIdx.x % Problem::keyHeads, blockIdx.x / Problem::keyHeads);
      return;
    }
    const int tile = Workspace::tiles - 1 - (blockIdx.x - means), queryTile = tile % Workspace::queryTiles;
    const int headOfAll = tile / Workspace::queryTiles;
    const int head = headOfAll % Problem::queryHeads, batch = headOfAll / Problem::queryHeads;
    if (threadIdx.x < Workspace::slabs)
      *workspace.getTurns(tile, threadIdx.x) = 0;
    if (tile == 0 && threadIdx.x == 0)
      *workspace.getNextTile() = 0;
    const int query = threadIdx.x / 4;
    const float steps = TileBias<Problem>::getSteps(score, query, batch, head);
    writeStatistics(output, outputGradient, logSumExp, workspace.getStatistics(tile), batch, head,
                    queryTile * Workspace::queriesPerTile + query, steps);
  }

private:
  /// Queries past the last one have infinite sums, so that their probabilities are zero. `steps` is what a linear
  /// bias of the query has more than that of the tile's first query.
  __device__ static void writeStatistics(const Element *output, const Element *outputGradient, const float *logSumExp,
                                         float *statistics, int batch, int head, int query, float steps) {
    float logSum = infinity(), rowSum = 0;
    if (query < Problem::queries) {
      logSum = log2OfE * shiftBy<Problem>(*Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query));
      if constexpr (hasLinearBias<Problem>)
        logSum -= steps;
      const Element *outputs = Problem::OutputLayout::getVectors(output, batch, head, query);
      const Element *slopes = Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, query);
#pragma unroll
      for (int i = 0; i < (chunks + 3) / 4; ++i) {
        const int chunk = 4 * i + threadIdx.x % 4;
        if (chunks % 4 == 0 || chunk < chunks)
          rowSum += dotChunks<Element>(reinterpret_cast<const Chunk *>(outputs)[chunk],
                                       reinterpret_cast<const Chunk *>(slopes)[chunk]);
      }
    }
    rowSum = sumOfRow(rowSum);
    if (threadIdx.x % 4 == 0) {
      statistics[threadIdx.x / 4] = logSum;
      statistics[Workspace::queriesPerTile + threadIdx.x / 4] = -rowSum;
    }
  }

  /// Writes the mean of a sample of keys at equal distances. Where the mean is small compared with the differences of
  /// keys, it has no effect, and subtracting it would only round the keys: zero is written. With derivatives, the sum
  /// of a row of dS is not zero, so no mean can be subtracted.
  __device__ static void average(const Element *keys, const Workspace &workspace, int head, int batch) {
    constexpr int rowsAtOnce = threads / chunks;
    constexpr int step = Problem::keys > maxSampled ? Problem::keys / maxSampled : 1;
    constexpr int count = countTiles(Problem::keys, step);
    __shared__ float parts[2][rowsAtOnce * Problem::headDim];
    const int row = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    float sums[8] = {}, squares[8] = {};
    for (int i = row; i < count && row < rowsAtOnce; i += rowsAtOnce) {
      const Chunk words =
          reinterpret_cast<const Chunk *>(Problem::KeyLayout::getVectors(keys, batch, head, i * step))[chunk];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float value = j % 2 ? Core::getSecond(words.words[j / 2]) : Core::getFirst(words.words[j / 2]);
        sums[j] += value;
        squares[j] += value * value;
      }
    }
    if (row < rowsAtOnce)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        parts[0][row * Problem::headDim + chunk * 8 + j] = sums[j];
        parts[1][row * Problem::headDim + chunk * 8 + j] = squares[j];
      }
    __syncthreads();
    if (threadIdx.x >= Workspace::columns)
      return;
    float sum = 0, square = 0;
    for (int i = 0; i < rowsAtOnce && threadIdx.x < Problem::headDim; ++i) {
      sum += parts[0][i * Problem::headDim + threadIdx.x];
      square += parts[1][i * Problem::headDim + threadIdx.x];
    }
    const float mean = sum / count;
    const bool isSmall = mean * mean * 16 < square / count, isZero = ScoreOf<Problem>::returnsDerivative || isSmall;
    workspace.getMean(batch, head)[threadIdx.x] = isZero ? 0 : mean;
  }
};
