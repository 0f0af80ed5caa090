//===- DDPReportTest.cpp - Tests of tables of several ranks ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/DDPReport.h"

#include "cs336/Bench/DDP/PlannedMemory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cs336::bench::ddp_report_test {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A row whose ranks agree.
DDPRow makeRow(Distribution distribution, int ranks, double milliseconds, double loss = 5, double gradNorm = 2) {
  DDPRow row{{}, ComputeType::FP32, Fusion::All, {}};
  row.exchange.mode = distribution;
  row.ranks = ranks;
  row.measurement.stepMilliseconds = {milliseconds, milliseconds, milliseconds};
  row.measurement.loss = loss;
  row.measurement.gradNorm = gradNorm;
  return row;
}

std::string getText(llvm::ArrayRef<DDPRow> rows, size_t row, llvm::StringRef key) {
  for (const Column<DDPRow> &column : getDDPColumns(rows))
    if (column.key == key)
      return column.extract(rows[row]).text;
  return "no column '" + key.str() + "'";
}

TEST(DDPReportTest, EfficiencyIsTheTimeOfOneRankOverThatOfAll) {
  std::vector<DDPRow> rows{makeRow(Distribution::None, 1, 8, /*loss=*/6), makeRow(Distribution::Flat, 2, 10),
                           makeRow(Distribution::Bucket, 4, 16)};
  EXPECT_EQ(getText(rows, 0, "scaling_efficiency"), "");
  EXPECT_EQ(getText(rows, 1, "scaling_efficiency"), "0.800");
  EXPECT_EQ(getText(rows, 2, "scaling_efficiency"), "0.500");
}

TEST(DDPReportTest, AnotherTypeIsNoBaseline) {
  std::vector<DDPRow> rows{makeRow(Distribution::None, 1, 8), makeRow(Distribution::Flat, 2, 10)};
  rows[1].computeType = ComputeType::BF16;
  EXPECT_EQ(getText(rows, 1, "scaling_efficiency"), "");
}

TEST(DDPReportTest, RowsWithOtherValuesHaveNoRatio) {
  std::vector<DDPRow> rows{makeRow(Distribution::None, 1, 8), makeRow(Distribution::Flat, 2, 10),
                           makeRow(Distribution::Bucket, 2, 10, /*loss=*/5.5),
                           makeRow(Distribution::Zero1, 2, 10, /*loss=*/5, /*gradNorm=*/2.1),
                           makeRow(Distribution::FSDP, 2, 10)};
  rows[4].measurement.spread = 1e-9;
  EXPECT_EQ(getText(rows, 1, "values"), "agree");
  EXPECT_EQ(getText(rows, 1, "scaling_efficiency"), "0.800");
  for (size_t row : {2, 3}) {
    EXPECT_EQ(getText(rows, row, "values"), "modes differ");
    EXPECT_EQ(getText(rows, row, "scaling_efficiency"), "");
  }
  EXPECT_EQ(getText(rows, 4, "values"), "ranks differ");
  EXPECT_EQ(getText(rows, 4, "scaling_efficiency"), "");
}

TEST(DDPReportTest, FailedRowsHaveTheirReason) {
  std::vector<DDPRow> rows{makeRow(Distribution::Flat, 2, 10), makeRow(Distribution::FSDP, 2, 10)};
  rows[0].measurement.status = absl::ResourceExhaustedError("a rank needs 100 GiB");
  rows[1].measurement.status = absl::AbortedError("rank 1 failed");
  EXPECT_EQ(getText(rows, 0, "mean_ms"), "OOM");
  EXPECT_EQ(getText(rows, 1, "mean_ms"), "failed");
  EXPECT_EQ(getText(rows, 1, "status"), "rank 1 failed");
  EXPECT_EQ(getText(rows, 1, "values"), "");
}

TEST(DDPReportTest, PeersAreComparedWithTheFastestModeOfEqualMemory) {
  std::vector<DDPRow> rows{makeRow(Distribution::Flat, 2, 12), makeRow(Distribution::Bucket, 2, 10),
                           makeRow(Distribution::FSDP, 2, 20), makeRow(Distribution::None, 2, 15),
                           makeRow(Distribution::None, 2, 30)};
  rows[3].peer = "ddp";
  rows[4].peer = "fsdp";
  EXPECT_EQ(getText(rows, 3, "compared_with"), "bucket");
  EXPECT_EQ(getText(rows, 3, "torch_over_cs336"), "1.50");
  EXPECT_EQ(getText(rows, 3, "distribute"), "torch ddp");
  EXPECT_EQ(getText(rows, 4, "compared_with"), "fsdp");
  EXPECT_EQ(getText(rows, 4, "torch_over_cs336"), "1.50");
  EXPECT_EQ(getText(rows, 0, "torch_over_cs336"), "");
}

TEST(DDPReportTest, ValuesThatPyTorchDoesNotReturnAreEmpty) {
  std::vector<DDPRow> rows{makeRow(Distribution::Flat, 2, 12), makeRow(Distribution::None, 2, 15)};
  RankResult result;
  result.lastLoss = 4;
  result.joinSeconds = 0.5;
  result.loadSeconds = 0.25;
  mergeResults({result}, rows[0].measurement);
  rows[1].peer = "ddp";
  EXPECT_EQ(getText(rows, 0, "last_loss"), "4.000000");
  EXPECT_EQ(getText(rows, 0, "join_seconds"), "0.500");
  EXPECT_EQ(getText(rows, 0, "load_seconds"), "0.25");
  for (const char *key : {"last_loss", "join_seconds", "load_seconds"})
    EXPECT_EQ(getText(rows, 1, key), "") << key;
}

TEST(DDPReportTest, SharesAreOfTheProfiledStep) {
  std::vector<DDPRow> rows{makeRow(Distribution::Flat, 2, 10)};
  rows[0].measurement.times = {.communication = 4, .compute = 8, .exposed = 2, .step = 16};
  EXPECT_EQ(getText(rows, 0, "communication_percent"), "25.0");
  EXPECT_EQ(getText(rows, 0, "exposed_percent"), "12.5");
  EXPECT_EQ(getText(rows, 0, "compute_ms"), "8.000");
}

TEST(DDPReportTest, WaitsForGathersRequireGathersAndAProfile) {
  std::vector<DDPRow> rows{makeRow(Distribution::FSDP, 2, 10), makeRow(Distribution::FSDP, 2, 10),
                           makeRow(Distribution::Flat, 2, 10)};
  for (DDPRow &row : rows)
    row.measurement.plan.emplace();
  for (size_t row : {0, 1})
    rows[row].measurement.exchange = {.collectives = 9, .gathers = 6};
  for (size_t row : {0, 2})
    rows[row].measurement.times = {.communication = 4, .gatherWait = 0.25, .lateGathers = 1.5, .step = 16};
  EXPECT_EQ(getText(rows, 0, "gathers"), "6");
  EXPECT_EQ(getText(rows, 0, "late_gathers"), "1.5");
  EXPECT_EQ(getText(rows, 0, "gather_wait_ms"), "0.250");
  EXPECT_EQ(getText(rows, 1, "gathers"), "6");
  EXPECT_EQ(getText(rows, 2, "gathers"), "");
  for (size_t row : {1, 2})
    for (const char *key : {"late_gathers", "gather_wait_ms"})
      EXPECT_EQ(getText(rows, row, key), "") << key;
}

RankResult makeResult(std::vector<double> milliseconds, double loss) {
  RankResult result;
  result.stepMilliseconds = std::move(milliseconds);
  result.loss = loss;
  result.gradNorm = 2;
  return result;
}

TEST(MergeResultsTest, StepsAreThoseOfTheSlowestRank) {
  DDPMeasurement measurement;
  mergeResults({makeResult({1, 5, 3}, 7), makeResult({2, 4, 3}, 7)}, measurement);
  EXPECT_THAT(measurement.stepMilliseconds, ElementsAre(2, 5, 3));
  EXPECT_THAT(measurement.deviceMilliseconds, IsEmpty());
  EXPECT_EQ(measurement.loss, 7);
  EXPECT_EQ(measurement.spread, 0);
  EXPECT_FALSE(measurement.times);
}

TEST(MergeResultsTest, SpreadIsTheLargestDifference) {
  DDPMeasurement measurement;
  std::vector<RankResult> results{makeResult({1}, 7), makeResult({1}, 7.25), makeResult({1}, 7)};
  results[2].lastLoss = 0.5;
  mergeResults(results, measurement);
  EXPECT_EQ(measurement.spread, 0.5);
  EXPECT_DOUBLE_EQ(*measurement.lastLoss, 0.5 / 3);
}

TEST(MergeResultsTest, NaNAgreesWithNothing) {
  DDPMeasurement measurement;
  double nan = std::numeric_limits<double>::quiet_NaN();
  mergeResults({makeResult({1}, nan), makeResult({1}, nan)}, measurement);
  EXPECT_TRUE(std::isnan(measurement.spread));
}

TEST(MergeResultsTest, TimesArePerStepAndRank) {
  DDPMeasurement measurement;
  std::vector<RankResult> results{makeResult({1}, 7), makeResult({1}, 7)};
  results[0].overlap = {.communication = 4'000'000, .compute = 6'000'000, .exposed = 2'000'000};
  results[1].overlap = {.communication = 8'000'000, .compute = 6'000'000, .exposed = 1'000'000};
  results[0].gatherWaits = {.late = 4, .waited = 1'000'000};
  results[1].gatherWaits = {.late = 2, .waited = 7'000'000};
  for (RankResult &result : results)
    result.profiledMilliseconds = {5, 7};
  mergeResults(results, measurement);
  ASSERT_TRUE(measurement.times);
  EXPECT_EQ(measurement.times->communication, 3);
  EXPECT_EQ(measurement.times->compute, 3);
  // Rank 0 also waits for rank 1.
  EXPECT_EQ(measurement.times->exposed, 0.5);
  EXPECT_EQ(measurement.times->imbalance, 0.25);
  EXPECT_EQ(measurement.times->gatherWait, 2);
  EXPECT_EQ(measurement.times->lateGathers, 1.5);
  EXPECT_EQ(measurement.times->step, 6);
}

TEST(RankResultTest, FilesKeepEverything) {
  RankResult result = makeResult({1.5, 2.25}, 7);
  result.status = absl::ResourceExhaustedError("rank 1 needs 3 GiB");
  result.gradNorm = std::numeric_limits<double>::infinity();
  result.deviceMemoryBytes = int64_t{1} << 40;
  result.overlap = {.communication = 1, .compute = 2, .exposed = 3};
  result.gatherWaits = {.late = 4, .waited = 5};
  result.profiledMilliseconds = {4};
  std::string path = ::testing::TempDir() + "/rank.json";
  ASSERT_TRUE(writeRankResult(result, path).ok());
  absl::StatusOr<RankResult> read = readRankResult(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->status, result.status);
  EXPECT_EQ(read->stepMilliseconds, result.stepMilliseconds);
  EXPECT_TRUE(std::isnan(read->gradNorm)); // Stands for infinities too.
  EXPECT_EQ(read->deviceMemoryBytes, result.deviceMemoryBytes);
  EXPECT_EQ(read->overlap, result.overlap);
  EXPECT_EQ(read->gatherWaits, result.gatherWaits);
  EXPECT_EQ(read->profiledMilliseconds, result.profiledMilliseconds);
}

TEST(RankResultTest, AMissingFileIsARankThatWasKilled) {
  EXPECT_TRUE(absl::IsNotFound(readRankResult(::testing::TempDir() + "/none.json").status()));
}

TEST(MemoryMomentsTest, GradientsLiveUntilTheOptimizerHasReadThem) {
  MemoryTimeline timeline;
  for (exec::CommandPhase phase : {exec::CommandPhase::Forward, exec::CommandPhase::Backward,
                                   exec::CommandPhase::Optimizer, exec::CommandPhase::Optimizer})
    timeline.commands.emplace_back().phase = phase;
  auto add = [](std::vector<Allocation> &to, MemoryKind kind, int64_t bytes, size_t first, size_t last) {
    Allocation &added = to.emplace_back();
    added.kind = kind;
    added.bytes = bytes;
    added.first = first;
    added.last = last;
  };
  add(timeline.residents, MemoryKind::Parameter, 100, 0, 0);
  add(timeline.allocations, MemoryKind::Activation, 50, 0, 1);
  add(timeline.allocations, MemoryKind::Gradient, 20, 1, 3);
  add(timeline.allocations, MemoryKind::Temporary, 5, 2, 2);

  std::vector<MemoryMoment> moments = getMemoryMoments(timeline);
  std::vector<std::string> names;
  std::vector<int64_t> gradients, totals;
  for (const MemoryMoment &moment : moments) {
    names.push_back(moment.name);
    gradients.push_back(moment.bytes[MemoryKind::Gradient]);
    totals.push_back(moment.bytes.getTotal());
  }
  EXPECT_THAT(names, ElementsAre("initialised", "peak", "before optimizer", "after optimizer"));
  EXPECT_THAT(gradients, ElementsAre(0, 20, 20, 0));
  EXPECT_THAT(totals, ElementsAre(100, 170, 120, 100));
}

} // namespace cs336::bench::ddp_report_test
