//===- DeviceWarpgroupAttentionTest.cpp - Main loops of attention ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of attention by warpgroups as a whole, compiled for the host, against float64: the order of copies,
// matmuls and epilogues, and what tiles and warpgroups pass on to each other.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupMaps.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <random>

namespace {

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
      if (isVisible<Problem>(query, key)) {
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
void checkResult(const HostOperand &operand, const std::vector<double> &expected, const char *name,
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

//===----------------------------------------------------------------------===//
// warpgroup_attention_forward.cuh
//===----------------------------------------------------------------------===//

template <class Kernel>
void runForward(const TensorMap *queries, const TensorMap *keys, const TensorMap *values, const TensorMap *output,
                float *logSumExp) {
  Kernel::run(queries, keys, values, output, logSumExp);
}

template <class Problem, int warpgroups = 2, int keysPerTile = 128>
void checkForward(int blocks) {
  using Kernel = WarpgroupAttentionForward<Problem, Wgmma, warpgroups, keysPerTile, 2>;
  Attention<Problem> attention(0);
  const TensorMap queries = attention.queries.map(64 * warpgroups), keys = attention.keys.map(keysPerTile),
                  values = attention.values.map(keysPerTile), output = attention.output.map(64);
  launchBlocks(runForward<Kernel>, std::min(blocks, Kernel::tiles), Kernel::threads, Kernel::sharedBytes, &queries,
               &keys, &values, &output, attention.logSumExp.data());
  checkResult(attention.output, attention.expectedOutput, "output");
  for (size_t i = 0; i < attention.logSumExp.size(); ++i)
    if (attention.expectedLogSumExp[i] == -HUGE_VAL)
      EXPECT_EQ(attention.logSumExp[i], -HUGE_VALF) << "row " << i;
    else
      ASSERT_NEAR(attention.logSumExp[i], attention.expectedLogSumExp[i], 1e-4) << "row " << i;
}

TEST(WarpgroupAttentionForwardTest, Causal) {
  checkForward<HostProblem<1, 2, 1, 300, 300, 64, true>>(2);
  checkForward<HostProblem<1, 1, 1, 200, 400, 80, true>>(1);
  checkForward<HostProblem<1, 1, 1, 400, 150, 128, true>>(3);
}
TEST(WarpgroupAttentionForwardTest, Full) {
  checkForward<HostProblem<2, 2, 2, 150, 333, 64, false>>(3);
  checkForward<HostProblem<1, 1, 1, 1, 1, 72, false>>(1);
}
TEST(WarpgroupAttentionForwardTest, ThreeWarpgroups) { checkForward<HostProblem<1, 2, 2, 420, 420, 64, true>, 3>(2); }
TEST(WarpgroupAttentionForwardTest, ThreeWarpgroupsWithScoreFunctions) {
  checkForward<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, 3, 96>(2);
  checkForward<BiasProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>, 3, 96>(2);
  checkForward<DocumentProblem<HostProblem<1, 1, 1, 300, 300, 64, true>>, 3, 96>(1);
  checkForward<CapProblem<HostProblem<1, 1, 1, 300, 310, 64, false>, 299, 20, false>, 3, 96>(1);
}
TEST(WarpgroupAttentionForwardTest, ScoreFunctions) {
  checkForward<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>>(2);
  checkForward<WindowProblem<HostProblem<1, 1, 1, 300, 420, 64, true>, 9, 0>>(1);
  // Most queries see nothing.
  checkForward<WindowProblem<HostProblem<1, 1, 1, 300, 60, 64, false>, 20, 0>>(1);
  checkForward<BiasProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>>(2);
  checkForward<DocumentProblem<HostProblem<1, 1, 1, 300, 300, 64, true>>>(1);
  checkForward<CapProblem<HostProblem<1, 1, 1, 300, 300, 64, true>, 299, 0, false>>(1);
}

//===----------------------------------------------------------------------===//
// warpgroup_attention_queries.cuh, warpgroup_attention_keys.cuh
//===----------------------------------------------------------------------===//

template <class Kernel>
void runQueries(const TensorMap *queries, const TensorMap *keys, const TensorMap *values,
                const TensorMap *outputGradient, const TensorMap *queryGradient, const Element *output,
                const Element *gradient, const float *logSumExp, QueryStatistics *statistics) {
  Kernel::run(queries, keys, values, outputGradient, queryGradient, output, gradient, logSumExp, statistics);
}
template <class Kernel>
void runKeys(const TensorMap *queries, const TensorMap *keys, const TensorMap *values, const TensorMap *outputGradient,
             const TensorMap *keyGradient, const TensorMap *valueGradient, const QueryStatistics *statistics) {
  Kernel::run(queries, keys, values, outputGradient, keyGradient, valueGradient, statistics);
}

template <class Problem>
void checkGradients(const Attention<Problem> &attention, float common) {
  // The rounding errors of dS are multiplied with the common component of the keys.
  const double bound = common == 0 ? 3.0 / 512 : 4.5 / 512;
  checkResult(attention.queryGradient, attention.expectedQueryGradient, "dQ", bound);
  checkResult(attention.keyGradient, attention.expectedKeyGradient, "dK");
  checkResult(attention.valueGradient, attention.expectedValueGradient, "dV");
}

template <class Problem, bool overlaps, int keysPerTile = 96>
void checkTwoPasses(int blocks, float common = 0) {
  using Queries = WarpgroupAttentionQueries<Problem, Wgmma, 2, keysPerTile, 3, 2>;
  using Keys = WarpgroupAttentionKeys<Problem, Wgmma, 2, 64, 3, overlaps, Queries::paddedQueries>;
  Attention<Problem> attention(common);
  attention.setForwardResults();
  std::vector<QueryStatistics> statistics(1ull * Problem::batches * Problem::queryHeads * Queries::paddedQueries,
                                          {NAN, NAN});
  const TensorMap queryMap = attention.queries.map(128), keyMap = attention.keys.map(keysPerTile),
                  valueMap = attention.values.map(keysPerTile), gradientMap = attention.outputGradient.map(128),
                  queryGradient = attention.queryGradient.map(64);
  launchBlocks(runQueries<Queries>, std::min(blocks, Queries::tiles), Queries::threads, Queries::sharedBytes, &queryMap,
               &keyMap, &valueMap, &gradientMap, &queryGradient, attention.output.getElements(),
               attention.outputGradient.getElements(), attention.logSumExp.data(), statistics.data());
  const TensorMap queryTiles = attention.queries.map(64), keyTiles = attention.keys.map(128),
                  valueTiles = attention.values.map(128), gradientTiles = attention.outputGradient.map(64),
                  keyGradient = attention.keyGradient.map(64), valueGradient = attention.valueGradient.map(64);
  launchBlocks(runKeys<Keys>, std::min(blocks, Keys::tiles), Keys::threads, Keys::sharedBytes, &queryTiles, &keyTiles,
               &valueTiles, &gradientTiles, &keyGradient, &valueGradient, statistics.data());
  checkGradients(attention, common);
}

TEST(WarpgroupAttentionGradientTest, InTwoPasses) {
  checkTwoPasses<HostProblem<1, 2, 1, 300, 300, 64, true>, true>(2);
  checkTwoPasses<HostProblem<1, 2, 2, 150, 200, 80, false>, true>(3);
  checkTwoPasses<HostProblem<1, 1, 1, 200, 150, 128, true>, false>(1);
}

/// dQ would contain the errors of D, multiplied with what the keys have in common.
TEST(WarpgroupAttentionGradientTest, KeysWithACommonComponentInTwoPasses) {
  checkTwoPasses<HostProblem<1, 1, 1, 200, 150, 128, true>, false>(1, 6);
}

TEST(WarpgroupAttentionGradientTest, WindowsInTwoPasses) {
  checkTwoPasses<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, true>(2);
  checkTwoPasses<WindowProblem<HostProblem<1, 4, 2, 420, 300, 64, false>, 70, 130>, true, 64>(3);
  // The first keys of the queries are cached.
  checkTwoPasses<WindowProblem<HostProblem<1, 1, 1, 150, 420, 128, false>, 1000, 270>, false, 64>(2);
  // Most queries see nothing.
  checkTwoPasses<WindowProblem<HostProblem<1, 2, 2, 300, 60, 64, false>, 20, 0>, true>(1);
}
TEST(WarpgroupAttentionGradientTest, FunctionsInTwoPasses) {
  checkTwoPasses<BiasProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, false, 64>(2);
  checkTwoPasses<DocumentProblem<HostProblem<2, 1, 1, 300, 300, 64, true>>, true>(2);
  checkTwoPasses<CapProblem<HostProblem<2, 4, 2, 300, 300, 64, true>, 299, 0, true>, false, 64>(3);
  checkTwoPasses<CapProblem<HostProblem<1, 1, 1, 200, 300, 128, false>, 100, 150, true>, false, 64>(1);
}
/// With derivatives, rows of dS do not sum to zero, and the error of D has a weight per row.
TEST(WarpgroupAttentionGradientTest, FunctionsOfKeysWithACommonComponentInTwoPasses) {
  checkTwoPasses<QuarterProblem<HostProblem<1, 1, 1, 200, 150, 64, true>>, false, 64>(1, 6);
  checkTwoPasses<BiasProblem<HostProblem<1, 1, 1, 200, 200, 64, false>, 150, 9>, false, 64>(1, 6);
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

/// `headsPerGroup` heads are computed at the same time. Blocks take the tiles of the last of several groups in the
/// reverse order.
template <class Problem, bool overlaps, int headsPerGroup = 1>
void checkOnePass() {
  using Prepare = WarpgroupGradientPrepare<Problem, Element>;
  using Sums = WarpgroupGradientSums<Problem, Wgmma, headsPerGroup, 2, 2, 3, overlaps>;
  using Round = WarpgroupGradientRound<Problem, Wgmma>;
  Attention<Problem> attention(0);
  attention.setForwardResults();
  std::vector<uint4> workspace(Sums::workspaceBytes / 16 + 1, {~0u, ~0u, ~0u, ~0u});
  auto *memory = reinterpret_cast<unsigned char *>(workspace.data());
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
  checkGradients(attention, 0);
}

TEST(WarpgroupAttentionGradientTest, InOnePass) {
  checkOnePass<HostProblem<1, 2, 1, 300, 300, 64, true>, true>();
  checkOnePass<HostProblem<1, 2, 2, 150, 200, 80, false>, true>();
  checkOnePass<HostProblem<1, 1, 1, 200, 150, 128, true>, false>();
}
TEST(WarpgroupAttentionGradientTest, WindowsInOnePass) {
  checkOnePass<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, true>();
  checkOnePass<WindowProblem<HostProblem<1, 4, 2, 420, 300, 64, false>, 70, 130>, true>();
  // The first keys of the queries are cached.
  checkOnePass<WindowProblem<HostProblem<1, 1, 1, 150, 420, 128, false>, 1000, 270>, false>();
  checkOnePass<WindowProblem<HostProblem<1, 1, 1, 300, 420, 64, true>, 9, 0>, false>();
  // Most queries see nothing.
  checkOnePass<WindowProblem<HostProblem<1, 2, 2, 300, 60, 64, false>, 20, 0>, true>();
}
TEST(WarpgroupAttentionGradientTest, FunctionsInOnePass) {
  checkOnePass<BiasProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, true>();
  checkOnePass<BiasProblem<HostProblem<1, 2, 2, 200, 300, 128, true>, 199, 0>, false, 2>();
  checkOnePass<DocumentProblem<HostProblem<2, 1, 1, 300, 300, 64, true>>, true>();
  checkOnePass<DocumentProblem<HostProblem<1, 2, 1, 210, 210, 80, false>>, false>();
}

} // namespace
