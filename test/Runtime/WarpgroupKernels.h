//===- WarpgroupKernels.h - Attention by warpgroups on the host -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of attention by warpgroups as a whole, compiled for the host, against float64.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_WARPGROUPKERNELS_H
#define CS336_TEST_RUNTIME_WARPGROUPKERNELS_H

#include "WarpgroupMaps.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <random>

using Element = __nv_bfloat16;
using Wgmma = HostWgmma<Element>;

/// An attention's operands and results, and its gradients in float64.
template <class Problem>
struct Attention {
  static constexpr int group = Problem::queryHeads / Problem::keyHeads;
  static HostOperand ofQueries() { return {Problem::batches, Problem::queries, Problem::queryHeads, Problem::headDim}; }
  static HostOperand ofKeys() { return {Problem::batches, Problem::keys, Problem::keyHeads, Problem::headDim}; }

  HostOperand queries = ofQueries(), keys = ofKeys(), values = ofKeys(), output = ofQueries();
  HostOperand outputGradient = ofQueries(), queryGradient = ofQueries(), keyGradient = ofKeys(),
              valueGradient = ofKeys();
  std::vector<float> logSumExp;
  std::vector<double> expectedOutput, expectedLogSumExp, expectedQueryGradient, expectedKeyGradient,
      expectedValueGradient;

  /// Columns of the keys have means of −`common`, 0 and `common`.
  explicit Attention(float common)
      : logSumExp(1ull * Problem::batches * Problem::queryHeads * Problem::queries, NAN),
        expectedOutput(output.bits.size()), expectedLogSumExp(logSumExp.size()),
        expectedQueryGradient(queries.bits.size()), expectedKeyGradient(keys.bits.size()),
        expectedValueGradient(keys.bits.size()) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1.5);
    for (HostOperand *operand : {&queries, &keys, &values, &outputGradient})
      operand->fill([&] { return normal(random); });
    for (size_t i = 0; i < keys.bits.size(); ++i)
      keys.bits[i] = __float2bfloat16_rn(__bfloat162float({keys.bits[i]}) +
                                         common * (static_cast<int>(i % Problem::headDim % 3) - 1))
                         .bits;
    for (int batch = 0; batch < Problem::batches; ++batch)
      for (int head = 0; head < Problem::queryHeads; ++head)
        for (int query = 0; query < Problem::queries; ++query)
          computeRow(batch, head, query);
  }

  /// Sets the operands of the gradient that the forward pass computes.
  void setForwardResults() {
    for (size_t i = 0; i < output.bits.size(); ++i)
      output.bits[i] = __float2bfloat16_rn(expectedOutput[i]).bits;
    std::copy(expectedLogSumExp.begin(), expectedLogSumExp.end(), logSumExp.begin());
  }

private:
  void computeRow(int batch, int head, int query) {
    const int keyHead = head / group;
    auto dot = [&](const HostOperand &a, const HostOperand &b, int key) {
      double sum = 0;
      for (int i = 0; i < Problem::headDim; ++i)
        sum += static_cast<double>(a.get(batch, query, head, i)) * b.get(batch, key, keyHead, i);
      return sum;
    };
    std::vector<double> p(Problem::keys, 0), dp(Problem::keys, 0), derivatives(Problem::keys, 0);
    double sum = 0, rowSum = 0;
    for (int key = 0; key < Problem::keys; ++key)
      if (isVisibleIn<Problem>(batch, query, key)) {
        const auto [score, derivative] =
            getScore<Problem>(Problem::scale * dot(queries, keys, key), batch, head, query, key);
        p[key] = std::exp(score);
        derivatives[key] = derivative;
        dp[key] = dot(outputGradient, values, key);
        sum += p[key];
      }
    const size_t row = (1ull * batch * Problem::queryHeads + head) * Problem::queries + query;
    expectedLogSumExp[row] = std::log(sum);
    for (int key = 0; key < Problem::keys; ++key) {
      p[key] = sum == 0 ? 0 : p[key] / sum;
      rowSum += p[key] * dp[key];
    }
    for (int key = 0; key < Problem::keys; ++key)
      for (int i = 0; i < Problem::headDim; ++i) {
        const size_t ofQuery = queries.getIndex(batch, query, head, i), ofKey = keys.getIndex(batch, key, keyHead, i);
        const double ds = derivatives[key] * p[key] * (dp[key] - rowSum) * Problem::scale;
        expectedOutput[ofQuery] += p[key] * values.get(batch, key, keyHead, i);
        expectedQueryGradient[ofQuery] += ds * keys.get(batch, key, keyHead, i);
        expectedKeyGradient[ofKey] += ds * queries.get(batch, query, head, i);
        expectedValueGradient[ofKey] += p[key] * outputGradient.get(batch, query, head, i);
      }
  }
};

/// Checks that each element was stored once, and the error of a result whose operands were rounded to bf16 once.
inline void checkResult(const HostOperand &operand, const std::vector<double> &expected, const char *name,
                        double bound = 3.0 / 512) {
  EXPECT_THAT(operand.stores, testing::Each(1)) << name;
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(__bfloat162float({operand.bits[i]}) - expected[i], 2);
    norm += std::pow(expected[i], 2);
  }
  // A NaN is not less than the bound.
  EXPECT_LT(std::sqrt(error), bound * std::sqrt(norm) + 1e-6) << name;
}

/// Boxes of 64 columns per row of an operand.
template <class Problem>
constexpr int countSlabs = (Problem::headDim + 63) / 64;

template <class Marks>
void runMarks(TileBits *bits) {
  Marks::run({}, bits);
}
/// Returns what the first function of a kernel writes for these masks, if data hides tiles.
template <class Problem, class... Masks>
std::vector<TileBits> markTiles() {
  std::vector<TileBits> bits;
  if constexpr (hidesTiles<Problem>) {
    using Marks = MarkTiles<Problem, Masks...>;
    bits.assign(Marks::bytes / sizeof(TileBits), {~0u, ~0u, ~0u});
    launchBlocks(runMarks<Marks>, Marks::blocks, Marks::threads, Marks::sharedBytes, bits.data());
  }
  return bits;
}

template <class Mask>
void runRanks(TileBits *bits) {
  RankTiles<Mask>::run(bits);
}
/// Returns what the first two functions of a kernel with ranks write, if data hides tiles.
template <class Problem, class Mask>
std::vector<TileBits> rankTiles() {
  std::vector<TileBits> bits;
  if constexpr (hidesTiles<Problem>) {
    using Marks = MarkWords<Problem, Mask>;
    bits.assign(Marks::bytes / sizeof(TileBits), {~0u, ~0u, ~0u});
    launchBlocks(runMarks<Marks>, Marks::blocks, Marks::threads, Marks::sharedBytes, bits.data());
    launchBlocks(runRanks<Mask>, RankTiles<Mask>::blocks, RankTiles<Mask>::threads, 0, bits.data());
  }
  return bits;
}

//===----------------------------------------------------------------------===//
// warpgroup_attention_forward.cuh
//===----------------------------------------------------------------------===//

template <class Kernel, bool isRanked>
void runForward(const TensorMap *queries, const TensorMap *keys, const TensorMap *values, const TensorMap *output,
                float *logSumExp, TileBits *bits) {
  Kernel::run(queries, keys, values, output, logSumExp, {}, bits, isRanked);
}

/// Returns how much a score may differ. Where a polynomial stands for the hyperbolic tangent of a soft cap, its error
/// is 1.5e-4 of the score.
template <class Problem>
constexpr double getScoreError() {
  if constexpr (hasSoftCap<Problem>)
    return 1.5e-4 * Problem::Score::softCap;
  return 1e-4;
}

/// Returns the number of tiles of keys that blocks copy.
template <class Problem, int warpgroups = 2, int keysPerTile = 128,
          int headsPerGroup = Problem::batches * Problem::queryHeads, int stages = 2, int queryStages = 2>
long long checkForward(int blocks, bool isRanked = false) {
  using Kernel = WarpgroupAttentionForward<Problem, Wgmma, warpgroups, keysPerTile, stages, queryStages, headsPerGroup>;
  Attention<Problem> attention(0);
  const TensorMap queries = attention.queries.map(64 * warpgroups), keys = attention.keys.map(keysPerTile),
                  values = attention.values.map(keysPerTile), output = attention.output.map(64);
  using Mask = TileMask<Problem, 64 * warpgroups, keysPerTile, /*ownsKeys=*/false, /*parts=*/warpgroups>;
  std::vector<TileBits> bits = isRanked ? rankTiles<Problem, Mask>() : markTiles<Problem, Mask>();
  launchBlocks(isRanked ? runForward<Kernel, true> : runForward<Kernel, false>, std::min(blocks, Kernel::tiles),
               Kernel::threads, Kernel::sharedBytes, &queries, &keys, &values, &output, attention.logSumExp.data(),
               bits.data());
  checkResult(attention.output, attention.expectedOutput, "output");
  for (size_t i = 0; i < attention.logSumExp.size(); ++i)
    if (attention.expectedLogSumExp[i] == -HUGE_VAL)
      EXPECT_EQ(attention.logSumExp[i], -HUGE_VALF) << "row " << i;
    else
      EXPECT_NEAR(attention.logSumExp[i], attention.expectedLogSumExp[i], getScoreError<Problem>()) << "row " << i;
  return attention.keys.boxes / countSlabs<Problem>;
}

//===----------------------------------------------------------------------===//
// warpgroup_attention_queries.cuh, warpgroup_attention_keys.cuh
//===----------------------------------------------------------------------===//

template <class Kernel>
void runQueries(const TensorMap *queries, const TensorMap *keys, const TensorMap *values,
                const TensorMap *outputGradient, const TensorMap *queryGradient, const Element *output,
                const Element *gradient, const float *logSumExp, QueryStatistics *statistics, const TileBits *bits) {
  Kernel::run(queries, keys, values, outputGradient, queryGradient, output, gradient, logSumExp, statistics, {}, bits);
}
template <class Kernel>
void runKeys(const TensorMap *queries, const TensorMap *keys, const TensorMap *values, const TensorMap *outputGradient,
             const TensorMap *keyGradient, const TensorMap *valueGradient, const QueryStatistics *statistics,
             const TileBits *bits) {
  Kernel::run(queries, keys, values, outputGradient, keyGradient, valueGradient, statistics, {}, bits);
}

template <class Problem>
void checkGradients(const Attention<Problem> &attention, float common) {
  // The rounding errors of dS are multiplied with the common component of the keys.
  const double bound = common == 0 ? 3.0 / 512 : 4.5 / 512;
  checkResult(attention.queryGradient, attention.expectedQueryGradient, "dQ", bound);
  checkResult(attention.keyGradient, attention.expectedKeyGradient, "dK");
  checkResult(attention.valueGradient, attention.expectedValueGradient, "dV");
}

/// Tiles of the gradient in two passes: of keys and values in shared memory for dQ; warpgroups, queries per tile and
/// tiles in shared memory for dK and dV.
struct UsualSizes {
  static constexpr int keyStages = 3, valueStages = 2, warpgroups = 2, queriesPerTile = 64, queryStages = 3;
};

/// Returns the number of tiles of keys that the blocks for dQ copy, and the number of tiles of queries that those for
/// dK and dV copy.
template <class Problem, bool overlaps, int keysPerTile = 96, class Sizes = UsualSizes>
std::pair<long long, long long> checkTwoPasses(int blocks, float common = 0) {
  using Queries = WarpgroupAttentionQueries<Problem, Wgmma, 2, keysPerTile, Sizes::keyStages, Sizes::valueStages>;
  constexpr int queriesPerTile = Sizes::queriesPerTile, ownKeys = 64 * Sizes::warpgroups;
  using Keys = WarpgroupAttentionKeys<Problem, Wgmma, Sizes::warpgroups, queriesPerTile, Sizes::queryStages, overlaps,
                                      Queries::paddedQueries>;
  Attention<Problem> attention(common);
  attention.setForwardResults();
  std::vector<QueryStatistics> statistics(1ull * Problem::batches * Problem::queryHeads * Queries::paddedQueries,
                                          {NAN, NAN});
  using MaskOfQueries = TileMask<Problem, 128, keysPerTile, /*ownsKeys=*/false>;
  const std::vector<TileBits> bits =
      markTiles<Problem, MaskOfQueries, TileMask<Problem, queriesPerTile, ownKeys, /*ownsKeys=*/true>>();
  const TensorMap queryMap = attention.queries.map(128), keyMap = attention.keys.map(keysPerTile),
                  valueMap = attention.values.map(keysPerTile), gradientMap = attention.outputGradient.map(128),
                  queryGradient = attention.queryGradient.map(64);
  launchBlocks(runQueries<Queries>, std::min(blocks, Queries::tiles), Queries::threads, Queries::sharedBytes, &queryMap,
               &keyMap, &valueMap, &gradientMap, &queryGradient, attention.output.getElements(),
               attention.outputGradient.getElements(), attention.logSumExp.data(), statistics.data(), bits.data());
  const long long tilesOfKeys = attention.keys.boxes, ownTilesOfQueries = attention.queries.boxes;
  const TensorMap queryTiles = attention.queries.map(queriesPerTile), keyTiles = attention.keys.map(ownKeys),
                  valueTiles = attention.values.map(ownKeys),
                  gradientTiles = attention.outputGradient.map(queriesPerTile),
                  keyGradient = attention.keyGradient.map(64), valueGradient = attention.valueGradient.map(64);
  launchBlocks(runKeys<Keys>, std::min(blocks, Keys::tiles), Keys::threads, Keys::sharedBytes, &queryTiles, &keyTiles,
               &valueTiles, &gradientTiles, &keyGradient, &valueGradient, statistics.data(),
               bits.data() + MaskOfQueries::bytes / sizeof(TileBits));
  checkGradients(attention, common);
  constexpr int slabs = countSlabs<Problem>;
  return {tilesOfKeys / slabs, (attention.queries.boxes - ownTilesOfQueries) / slabs};
}

//===----------------------------------------------------------------------===//
// warpgroup_gradient_*.cuh
//===----------------------------------------------------------------------===//

template <class Kernel>
void runPrepare(const Element *keys, const Element *output, const Element *outputGradient, const float *logSumExp,
                unsigned char *workspace) {
  Kernel::run(keys, output, outputGradient, logSumExp, workspace);
}
template <class Kernel>
void runSums(const TensorMap *queries, const TensorMap *keys, const TensorMap *values, const TensorMap *outputGradient,
             const TensorMap *keyGradient, const TensorMap *valueGradient, unsigned char *workspace) {
  Kernel::run(queries, keys, values, outputGradient, keyGradient, valueGradient, workspace);
}
template <class Kernel>
void runRound(const TensorMap *queryGradient, unsigned char *workspace) {
  Kernel::run(queryGradient, workspace);
}

/// Returns the number of tiles of queries that blocks copy. `headsPerGroup` heads are computed at the same time. Blocks
/// take the tiles of the last of several groups in the reverse order.
template <class Problem, bool overlaps, int headsPerGroup = 1, int queryStages = 2, int slopeStages = 2,
          int sumStages = 3>
long long checkOnePass(float common = 0) {
  using Prepare = WarpgroupGradientPrepare<Problem, Element>;
  using Sums = WarpgroupGradientSums<Problem, Wgmma, headsPerGroup, queryStages, slopeStages, sumStages, overlaps>;
  using Round = WarpgroupGradientRound<Problem, Wgmma>;
  Attention<Problem> attention(common);
  attention.setForwardResults();
  std::vector<uint4> workspace(Sums::workspaceBytes / 16 + 1, {~0u, ~0u, ~0u, ~0u});
  auto *memory = reinterpret_cast<unsigned char *>(workspace.data());
  using Workspace = GradientWorkspace<Problem>;
  const std::vector<TileBits> bits =
      markTiles<Problem, typename Workspace::MaskOfKeys, typename Workspace::MaskOfQueries>();
  std::memcpy(memory + Workspace::bits, bits.data(), bits.size() * sizeof(TileBits));
  launchBlocks(runPrepare<Prepare>, Prepare::blocks, Prepare::threads, Prepare::sharedBytes,
               attention.keys.getElements(), attention.output.getElements(), attention.outputGradient.getElements(),
               attention.logSumExp.data(), memory);
  const TensorMap queries = attention.queries.map(64), keys = attention.keys.map(128),
                  values = attention.values.map(128), gradients = attention.outputGradient.map(64),
                  queryGradient = attention.queryGradient.map(64), keyGradient = attention.keyGradient.map(64),
                  valueGradient = attention.valueGradient.map(64);
  launchBlocks(runSums<Sums>, 2, Sums::threads, Sums::sharedBytes, &queries, &keys, &values, &gradients, &keyGradient,
               &valueGradient, memory);
  launchBlocks(runRound<Round>, Round::blocks, Round::threads, Round::sharedBytes, &queryGradient, memory);
  checkGradients(attention, common);
  return attention.queries.boxes / countSlabs<Problem>;
}

#endif // CS336_TEST_RUNTIME_WARPGROUPKERNELS_H
