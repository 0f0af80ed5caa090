//===- ScalingTest.cpp - Steps on many ranks, computed by hand ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/LinkFlags.h"
#include "cs336/Bench/Scaling/ScalingReport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::scaling_test {

/// d = 1000, f = 4000, 10 layers, 10 heads, a vocabulary of 5000 and contexts of 100. A layer has 4·10^6 + 12·10^6 =
/// 16·10^6 weights and 2000 gains; the embedding and the head have 5·10^6 each, the head also 1000 gains.
TransformerConfig makeConfig() {
  TransformerConfig config;
  config.dModel = 1000;
  config.dFF = 4000;
  config.numLayers = 10;
  config.numHeads = 10;
  config.vocabSize = 5000;
  config.contextLength = 100;
  return config;
}

/// 1 GB/s on one link without latency, 10^12 FLOP/s, 2 bytes per number.
constexpr Interconnect kPlain = {0, {0, 1e9}, {0, 1e9}, 1 << 20};
constexpr ScalingRates kRates = {1e12, 2, kPlain};

/// Per token: 10 layers with 2·16·10^6 + 2·100·1000 forward and 4·16·10^6 + 5·100·1000 backward, and the head with
/// 2·5·10^6 and 4·5·10^6.
constexpr double kForwardFlops = 10 * 32.2e6 + 10e6, kBackwardFlops = 10 * 64.5e6 + 20e6;
constexpr double kParameters = 10 * 16.002e6 + 5e6 + 5.001e6;

TEST(ScalingModelTest, DataRanksAllReduceGradients) {
  StepTime step = ScalingModel(makeConfig(), kRates).predict(Strategy::Data, {4, 1}, 4000);
  EXPECT_NEAR(step.forward.compute, kForwardFlops * 1000 / 1e12, 1e-9);
  EXPECT_NEAR(step.backward.compute, kBackwardFlops * 1000 / 1e12, 1e-9);
  EXPECT_EQ(step.forward.communication, 0);
  // 2·3/4 of two bytes per parameter.
  EXPECT_NEAR(step.backward.communication, 3 * kParameters / 1e9, 1e-9);
  EXPECT_NEAR(static_cast<double>(step.sentBytes), 3 * kParameters, 12);
  EXPECT_NEAR(step.layer.compute, 96.7e6 * 1000 / 1e12, 1e-9);
  EXPECT_NEAR(step.layer.communication, 3 * 16.002e6 / 1e9, 1e-9);
  // 0.51 s of communication beside 0.665 s of the backward pass.
  EXPECT_FALSE(step.isBoundByCommunication());
  EXPECT_NEAR(step.getOverlapped(), step.getCompute(), 1e-12);
}

TEST(ScalingModelTest, ShardedParametersAreGatheredTwice) {
  StepTime step = ScalingModel(makeConfig(), kRates).predict(Strategy::FSDP, {4, 1}, 4000);
  EXPECT_NEAR(step.forward.communication, 1.5 * kParameters / 1e9, 1e-9);
  EXPECT_NEAR(step.backward.communication, 3 * kParameters / 1e9, 1e-9);
  // Half of the tokens: the forward pass takes 0.166 s and communicates 0.255 s.
  step = ScalingModel(makeConfig(), kRates).predict(Strategy::FSDP, {4, 1}, 2000);
  EXPECT_TRUE(step.isBoundByCommunication());
  EXPECT_NEAR(step.getExposed(), 4.5 * kParameters / 1e9 - (kForwardFlops + kBackwardFlops) * 500 / 1e12, 1e-9);
}

TEST(ScalingModelTest, TensorRanksAllReduceActivations) {
  StepTime step = ScalingModel(makeConfig(), kRates).predict(Strategy::Tensor, {1, 5}, 1000);
  EXPECT_NEAR(step.forward.compute, kForwardFlops * 200 / 1e12, 1e-9);
  // 21 all-reduces of 1000 tokens · 1000 numbers · 2 bytes in each pass, 2·4/5 of which each rank sends.
  EXPECT_NEAR(step.forward.communication, 21 * 3.2e6 / 1e9, 1e-9);
  EXPECT_NEAR(step.backward.communication, 21 * 3.2e6 / 1e9, 1e-9);
  EXPECT_NEAR(step.layer.communication, 4 * 3.2e6 / 1e9, 1e-9);
}

TEST(ScalingModelTest, GridsShardTheirPartOfParameters) {
  StepTime step = ScalingModel(makeConfig(), kRates).predict(Strategy::FSDPTensor, {4, 5}, 4000);
  EXPECT_NEAR(step.forward.compute, kForwardFlops * 200 / 1e12, 1e-9);
  EXPECT_NEAR(step.forward.communication, (1.5 * kParameters / 5 + 21 * 3.2e6) / 1e9, 1e-7);
  // One tensor rank is fsdp.
  ScalingModel model(makeConfig(), kRates);
  EXPECT_EQ(model.predict(Strategy::FSDPTensor, {8, 1}, 8000).getOverlapped(),
            model.predict(Strategy::FSDP, {8, 1}, 8000).getOverlapped());
}

TEST(ScalingModelTest, TheLinkOfAGroupDependsOnItsPlace) {
  // Hosts of 4 devices: tensor ranks are neighbours, and data ranks are on different hosts.
  ScalingRates rates{1e12, 2, {0, {0, 1e9}, {0, 1e8}, 4}};
  ScalingModel model(makeConfig(), rates);
  StepTime step = model.predict(Strategy::FSDPTensor, {2, 4}, 200);
  double gather = 0.5 * kParameters * 2 / 4 / 1e8, exchange = 21 * 1.5 * 100 * 1000 * 2 / 1e9;
  EXPECT_NEAR(step.forward.communication, gather + exchange, 1e-6);
}

TEST(ScalingModelTest, ObstaclesAreNamed) {
  ScalingModel model(makeConfig(), kRates);
  EXPECT_EQ(model.getObstacle({8, 1}, 8), "");
  EXPECT_EQ(model.getObstacle({9, 1}, 8), "sequences");
  EXPECT_EQ(model.getObstacle({1, 4}, 8), "heads");
  TransformerConfig config = makeConfig();
  config.dFF = 4001;
  EXPECT_EQ(ScalingModel(config, kRates).getObstacle({1, 5}, 8), "d_ff");
}

TEST(ScalingModelTest, TheFastestGridIsChosen) {
  ScalingModel model(makeConfig(), kRates);
  // 20 sequences on 100 ranks leave 5 or 10 tensor ranks. For so few tokens, most of the bytes are parameters.
  RankGrid grid = model.chooseGrid(Strategy::FSDPTensor, 100, 20);
  EXPECT_EQ(grid.tensor, 10);
  EXPECT_EQ(grid.data, 10);
  EXPECT_LT(model.predict(Strategy::FSDPTensor, {10, 10}, 2000).getOverlapped(),
            model.predict(Strategy::FSDPTensor, {20, 5}, 2000).getOverlapped());
  // So much computation hides everything: the least communication is chosen.
  EXPECT_EQ(model.chooseGrid(Strategy::FSDPTensor, 10, 10'000'000).tensor, 1);
  EXPECT_EQ(model.chooseGrid(Strategy::Tensor, 10, 1).tensor, 10);
  EXPECT_EQ(model.chooseGrid(Strategy::FSDP, 10, 1).data, 10);
}

TEST(ScalingLimitsTest, ComputationBindsFromSomeTokensOn) {
  ScalingModel model(makeConfig(), kRates);
  // 3·kParameters / 10^9 seconds for 4 ranks, at kBackwardFlops / 10^12 per token: 767.01.
  EXPECT_EQ(findLeastTokens(model, Strategy::Data, {4, 1}), 768);
  // The forward pass of fsdp: 1.5·kParameters / 10^9, at kForwardFlops / 10^12 per token: 768.2.
  EXPECT_EQ(findLeastTokens(model, Strategy::FSDP, {4, 1}), 769);
  // About eC / 2W = 1000 for many ranks.
  EXPECT_NEAR(static_cast<double>(*findLeastTokens(model, Strategy::Data, {1024, 1})), 1000, 30);
  EXPECT_EQ(findLeastTokens(model, Strategy::Data, {1, 1}), 1);
  // All-reduces of activations take longer than the GEMMs at any number of tokens.
  EXPECT_EQ(findLeastTokens(model, Strategy::Tensor, {1, 10}), std::nullopt);
}

TEST(ScalingLimitsTest, MoreRanksMakeCommunicationBind) {
  ScalingModel model(makeConfig(), kRates);
  // 100 sequences are 10000 tokens. Communication binds if 2·2·(N - 1)/N·kParameters / 10^9 is above
  // 10000·kBackwardFlops / (10^12·N), that is for N above 1 + 9.78.
  RankLimit limit = findMostRanks(model, Strategy::Data, {100, false});
  EXPECT_EQ(limit.ranks, 10);
  EXPECT_EQ(limit.endedBy, "communication");
  // 2 sequences of 10000 tokens each.
  TransformerConfig config = makeConfig();
  config.contextLength = 10000;
  limit = findMostRanks(ScalingModel(config, kRates), Strategy::FSDP, {2, false});
  EXPECT_EQ(limit.ranks, 2);
  EXPECT_EQ(limit.endedBy, "sequences");
  // A fast link leaves the heads as the limit.
  ScalingRates fast{1e12, 2, {0, {0, 1e15}, {0, 1e15}, 1 << 20}};
  limit = findMostRanks(ScalingModel(makeConfig(), fast), Strategy::Tensor, {100, false});
  EXPECT_EQ(limit.ranks, 10);
  EXPECT_EQ(limit.endedBy, "heads");
  limit = findMostRanks(ScalingModel(makeConfig(), fast), Strategy::Data, {100, true});
  EXPECT_EQ(limit.ranks, kMostRanks);
  EXPECT_EQ(limit.endedBy, "search");
}

TEST(AllReduceAlgorithmsTest, CostsAreThoseOfTheirDefinitions) {
  using Algorithm = AllReduceAlgorithm;
  auto getCost = [](Algorithm algorithm, int64_t ranks) {
    std::optional<AllReduceCost> cost = getAllReduceCost(algorithm, ranks, 8000);
    return cost ? std::pair(cost->steps, cost->sentBytes) : std::pair<int64_t, int64_t>(-1, -1);
  };
  EXPECT_EQ(getCost(Algorithm::Ring, 8), std::pair(14l, 14000l));
  EXPECT_EQ(getCost(Algorithm::WholeBufferRing, 8), std::pair(7l, 56000l));
  EXPECT_EQ(getCost(Algorithm::OneShot, 8), std::pair(1l, 56000l));
  EXPECT_EQ(getCost(Algorithm::HalvingDoubling, 8), std::pair(6l, 14000l));
  EXPECT_EQ(getCost(Algorithm::HalvingDoubling, 6).first, -1);
  EXPECT_EQ(getAllReduceCost(Algorithm::OneShot, 1024, int64_t(1) << 60), std::nullopt);
}

TEST(AllReduceAlgorithmsTest, WholeBuffersAreFasterBelowTheEqualSize) {
  Link link{2e-6, 100e9};
  // 2 us · 100 GB/s · 4/2.
  EXPECT_DOUBLE_EQ(*getEqualBytes(link, 4), 400e3);
  EXPECT_EQ(getEqualBytes(link, 2), std::nullopt);
  auto predict = [&](AllReduceAlgorithm algorithm, int64_t bytes) {
    AllReduceCost cost = *getAllReduceCost(algorithm, 4, bytes);
    return link.predict(cost.steps, cost.sentBytes);
  };
  EXPECT_DOUBLE_EQ(predict(AllReduceAlgorithm::Ring, 400'000), predict(AllReduceAlgorithm::WholeBufferRing, 400'000));
  EXPECT_LT(predict(AllReduceAlgorithm::WholeBufferRing, 399'000), predict(AllReduceAlgorithm::Ring, 399'000));
  EXPECT_GT(predict(AllReduceAlgorithm::WholeBufferRing, 401'000), predict(AllReduceAlgorithm::Ring, 401'000));
  Interconnect links{0, link, {5e-6, 1e9}, 4};
  EXPECT_EQ(&getSlowestLink(links, 4), &links.link);
  EXPECT_EQ(&getSlowestLink(links, 5), &links.network);
}

TEST(LinkFlagsTest, LinksAreATimeAndARate) {
  std::optional<Link> link = parseLink("1.5us, 320GB/s");
  ASSERT_TRUE(link);
  EXPECT_DOUBLE_EQ(link->stepSeconds, 1.5e-6);
  EXPECT_DOUBLE_EQ(link->bytesPerSecond, 320e9);
  EXPECT_EQ(describeLink(*link), "1.5 us, 320 GB/s");
  EXPECT_DOUBLE_EQ(parseLink("0s,1GiB/s")->bytesPerSecond, 1073741824);
  for (const char *text : {"", "3us", "3us,", "320GB/s", "3,320GB/s", "3us,320GB", "-1us,320GB/s", "3us,0GB/s",
                           "nanus,1GB/s", "3us,320Gb/s", "2s,1GB/s"})
    EXPECT_FALSE(parseLink(text)) << text;
}

} // namespace cs336::bench::scaling_test
