//===- AttentionReportTest.cpp - Measured attention as rows ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionReport.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::attention_report_test {

using ::testing::HasSubstr;

/// As if a GPU had been measured: the times of passes as long as they get.
AttentionRow makeRow(AttentionCase attention, Fusion fusion, std::string added = "") {
  AttentionRow row{attention, fusion, /*warmup=*/5, /*steps=*/100, {}, {"", added, added.empty() ? "" : "bf16"}};
  AttentionMeasurement &measurement = row.measurement;
  measurement.forward = {{12345.678, 12346.234, 12346.789}, {12345.678, 12346.234, 12346.789}};
  measurement.loss = measurement.forward;
  measurement.both = {{98765.432, 98766.000, 98766.543}, {98765.432, 98766.000, 98766.543}};
  measurement.memory = {int64_t(140) << 30, int64_t(140) << 30, int64_t(140) << 30};
  measurement.forwardCommands = measurement.backwardCommands = 1234;
  measurement.compileSeconds = 123.45;
  for (const char *variant : {"naive", "compiled", "sdpa"}) {
    AttentionPeerMeasurement &peer = measurement.peers.emplace_back();
    peer.variant = variant;
    peer.forwardMilliseconds = peer.backwardMilliseconds = {123456.789, 123456.789, 123456.789};
    peer.beforeBackwardMiB = peer.forwardPeakMiB = peer.backwardPeakMiB = 143360;
    peer.outputDifference = peer.gradientDifference = 1e-5;
    peer.isClose = true;
  }
  return row;
}

TEST(AttentionReportTest, TheWidestDefaultTableFits) {
  std::vector<AttentionRow> rows;
  for (ComputeType type : {ComputeType::FP32, ComputeType::BF16})
    for (bool isCausal : {false, true})
      for (const char *added : {"none", "hoist-invariants", "fuse-elementwise"})
        rows.push_back(makeRow({64, 32, 65536, 128, isCausal, type}, Fusion::Elementwise, added));
  rows.push_back(makeRow({8, 1, 1024, 64, false, ComputeType::FP32, AttentionCase::Part::Scores}, Fusion::None));
  EXPECT_LE(getWidestLine(print(makeAttentionReport(rows, {}), Format::Table)), 120);
}

TEST(AttentionReportTest, AUtilizationAboveOneIsNotPrinted) {
  std::vector<AttentionRow> rows = {makeRow({1, 1, 64, 64, false, ComputeType::FP32}, Fusion::All)};
  AttentionMeasurement &measurement = rows.front().measurement;
  measurement.forward = measurement.loss = {{4, 4, 4}, {4, 4, 4}};
  measurement.both = {{104, 104, 104}, {104, 104, 104}};
  double forward = rows.front().attention.getForwardFlops() / 4e-3;
  EXPECT_DOUBLE_EQ(getHighestRate(rows.front()), forward);
  rows.front().peakRate = 0.9 * forward;
  llvm::json::Value report = llvm::cantFail(llvm::json::parse(print(makeAttentionReport(rows, {}), Format::JSON)));
  const llvm::json::Object &row = *report.getAsObject()->getArray("results")->front().getAsObject();
  EXPECT_EQ(*row.get("forward_mfu"), llvm::json::Value(nullptr));
  EXPECT_LT(row.getNumber("backward_mfu").value_or(1), 1);
}

TEST(AttentionReportTest, RatiosCompareTimesByOneClock) {
  std::vector<AttentionRow> rows = {makeRow({1, 1, 64, 64, false, ComputeType::FP32}, Fusion::All)};
  AttentionMeasurement &measurement = rows.front().measurement;
  measurement.forward = {{4, 4, 4}, {2, 2, 2}};
  measurement.loss = {{5, 5, 5}, {3, 3, 3}};
  measurement.both = {{15, 15, 15}, {7, 7, 7}};
  measurement.peers.resize(2);
  measurement.peers.back().isByEvents = true;
  for (AttentionPeerMeasurement &peer : measurement.peers)
    peer.forwardMilliseconds = peer.backwardMilliseconds = {20, 20, 20};
  llvm::json::Value report = llvm::cantFail(llvm::json::parse(print(makeAttentionReport(rows, {}), Format::JSON)));
  const llvm::json::Object &row = *report.getAsObject()->getArray("results")->front().getAsObject();
  EXPECT_EQ(row.getString("torch_naive_clock"), "host");
  EXPECT_EQ(row.getNumber("torch_naive_forward_ratio"), 5);
  EXPECT_EQ(row.getNumber("torch_naive_backward_ratio"), 2);
  EXPECT_EQ(row.getString("torch_compiled_clock"), "event");
  EXPECT_EQ(row.getNumber("torch_compiled_forward_ratio"), 10);
  EXPECT_EQ(row.getNumber("torch_compiled_backward_ratio"), 5);
}

TEST(AttentionReportTest, ATableOfScoreFunctionsFits) {
  std::vector<AttentionRow> rows;
  for (ComputeType type : {ComputeType::FP32, ComputeType::BF16})
    for (const char *score : {"plain", "window:16384", "softcap:30.25", "documents:16384"})
      for (Fusion fusion : {Fusion::None, Fusion::Elementwise})
        rows.push_back(
            makeRow({64, 32, 65536, 128, true, type, AttentionCase::Part::Whole, *parseScore(score)}, fusion));
  EXPECT_LE(getWidestLine(print(makeAttentionReport(rows, {}), Format::Table)), 120);
}

TEST(AttentionReportTest, APeerThatDisagreesHasNoRatio) {
  std::vector<AttentionRow> rows{makeRow({1, 1, 8, 8}, Fusion::None)};
  EXPECT_THAT(print(makeAttentionReport(rows, {}), Format::CSV), HasSubstr(",123456.789,10.00,"));
  for (AttentionPeerMeasurement &peer : rows.front().measurement.peers)
    peer.isClose = false;
  EXPECT_THAT(print(makeAttentionReport(rows, {}), Format::CSV), HasSubstr(",123456.789,mismatch,"));
}

TEST(AttentionReportTest, NoiseHidesWhatItMakesAmbiguous) {
  std::vector<AttentionRow> rows{makeRow({1, 1, 8, 8}, Fusion::None), makeRow({1, 1, 8, 8}, Fusion::All)};
  std::string text = print(makeAttentionReport(rows, {}), Format::Table);
  EXPECT_THAT(text, HasSubstr("speed-up fwd  speed-up bwd"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("noisy")));
  // Times of a busy machine: as many steps with gradients take less time than the loss alone.
  rows.back().measurement.both.host = {11000, 98765.432, 12400};
  text = print(makeAttentionReport(rows, {}), Format::Table);
  EXPECT_THAT(text, HasSubstr("1.00         noisy"));
  EXPECT_THAT(text, HasSubstr("noisy: the quartiles of the steps"));
}

TEST(AttentionReportTest, APassThatDidNotFitSaysSo) {
  std::vector<AttentionRow> rows{makeRow({1, 1, 8, 8}, Fusion::None)};
  rows.front().measurement.backwardStatus = absl::ResourceExhaustedError("too large");
  std::string text = print(makeAttentionReport(rows, {}), Format::Table);
  EXPECT_THAT(text, HasSubstr("OOM"));
  EXPECT_THAT(text, HasSubstr("12346.234"));
}

TEST(AttentionReportTest, ACaseIsDescribedWithItsScoreFunction) {
  AttentionCase attention{8, 16, 1024, 64, /*isCausal=*/true, ComputeType::BF16};
  EXPECT_EQ(describeAttention(attention, Fusion::All, {}), "8 x 16 x 1024 x 64, causal, bf16, fusion all");
  attention.score = *parseScore("softcap:2.5");
  EXPECT_EQ(describeAttention(attention, Fusion::All, {}), "8 x 16 x 1024 x 64, causal, softcap:2.5, bf16, fusion all");
}

TEST(AttentionReportTest, SpeedUpsCompareEqualScoreFunctions) {
  AttentionCase window{1, 1, 64, 8, /*isCausal=*/true};
  window.score = *parseScore("window:16");
  std::vector<AttentionRow> rows{makeRow({1, 1, 64, 8, /*isCausal=*/true}, Fusion::None), makeRow(window, Fusion::All)};
  EXPECT_THAT(print(makeAttentionReport(rows, {}), Format::Table), ::testing::Not(HasSubstr("speed-up")));
  rows.push_back(makeRow(window, Fusion::None));
  EXPECT_THAT(print(makeAttentionReport(rows, {}), Format::Table), HasSubstr("speed-up"));
}

TEST(AttentionReportTest, ATileThatDoesNotFitHasBothNumbers) {
  std::vector<AttentionRow> rows{makeRow({1, 1, 1024, 128}, Fusion::All), makeRow({1, 1, 1024, 128}, Fusion::All)};
  rows[0].tile = {64, 64};
  rows[1].tile = {256, 256};
  AttentionMeasurement &measurement = rows[1].measurement;
  measurement.backwardBlock = {"keys", 397312, 232448, "sm_90a"};
  measurement.forwardBlock = {"forward", 196608, 232448, "sm_90a"};
  measurement.backwardStatus = checkFit(*measurement.backwardBlock, *rows[1].tile);
  EXPECT_THAT(std::string(measurement.backwardStatus.message()),
              HasSubstr("256x256 requires 397312 bytes of shared memory per block in the function 'keys', and sm_90a "
                        "has 232448"));
  std::string text = print(makeAttentionReport(rows, {}), Format::Table);
  EXPECT_THAT(text, HasSubstr("256x256"));
  EXPECT_THAT(text, HasSubstr("does not fit"));
  EXPECT_THAT(text, HasSubstr("397312"));
  EXPECT_LE(getWidestLine(text), 120);
}

} // namespace cs336::bench::attention_report_test
