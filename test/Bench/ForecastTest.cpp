//===- ForecastTest.cpp - What a sweep is going to take -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Forecast/ForecastTime.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Bench/Progress/RemainingTime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::forecast_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ForecastTest, DurationsAreRounded) {
  EXPECT_EQ(formatDuration(0.01), "1 s");
  EXPECT_EQ(formatDuration(42.4), "42 s");
  EXPECT_EQ(formatDuration(119), "119 s");
  EXPECT_EQ(formatDuration(120), "2 min");
  EXPECT_EQ(formatDuration(119 * 60), "119 min");
  EXPECT_EQ(formatDuration(2.5 * 60 * 60), "2.5 h");
}

TEST(ForecastTest, TheRemainingTimeFollowsWhatWasMeasured) {
  RemainingTime remaining({10, 20, 30});
  EXPECT_EQ(remaining.getSeconds(), std::nullopt); // Nothing was measured.
  remaining.finish(20);                            // Twice as long as expected.
  EXPECT_EQ(remaining.getSeconds(), 100);
  remaining.finish(10); // As long as expected until here.
  EXPECT_EQ(remaining.getSeconds(), 30);
  remaining.finish(15);
  EXPECT_EQ(remaining.getSeconds(), 0);
  remaining.finish(1); // Nothing remains.
  EXPECT_EQ(remaining.getSeconds(), 0);
}

TEST(ForecastTest, LaterTasksBeginWithTheTimeThatIsLeft) {
  ::testing::internal::CaptureStderr();
  {
    // Whatever the first task takes is more than expected by a factor of thousands.
    Progress progress(3, {1e-12, 1e3, 1e3});
    progress.start("first");
    progress.start("second");
  }
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("[1/3] first\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\\[2/3\\] second \\(about [0-9.]+ h left\\)"));
}

TEST(ForecastTest, NothingExpectedSaysNothing) {
  RemainingTime remaining({});
  remaining.finish(20);
  EXPECT_EQ(remaining.getSeconds(), std::nullopt);
}

TEST(ForecastTest, TheFirstLineHasCellsMemoryAndTime) {
  Forecast forecast;
  forecast.cells = 1;
  EXPECT_EQ(forecast.describe(), "1 cell\n");
  forecast.cells = 12;
  forecast.memoryBytes = int64_t(5) << 29;
  forecast.largest = "small, train";
  forecast.taskSeconds = {100, 140};
  forecast.timeBasis = "5 TFLOP";
  EXPECT_EQ(forecast.describe(), "12 cells, 2.5 GiB for the largest, about 4 min\n"
                                 "  memory: the plan of small, train\n"
                                 "  time: 5 TFLOP\n");
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(forecast.toJSON());
  std::optional<Forecast> read = Forecast::fromJSON(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->describe(), forecast.describe());
  forecast.memoryBytes = std::nullopt;
  forecast.taskSeconds.clear();
  text.clear();
  llvm::raw_string_ostream(text) << llvm::json::Value(forecast.toJSON());
  EXPECT_EQ(Forecast::fromJSON(text)->describe(), "12 cells\n  time: 5 TFLOP\n");
  EXPECT_EQ(Forecast::fromJSON("{}"), std::nullopt);
  EXPECT_EQ(Forecast::fromJSON("[1"), std::nullopt);
}

TEST(PeakRateTest, RepeatedMeasurementsKeepTheHighestRate) {
  PeakRates rates({}, "cpu", /*numThreads=*/1, /*seed=*/0);
  absl::StatusOr<double> first = rates.get(BuildType::F32, ComputeType::FP32);
  ASSERT_TRUE(first.ok()) << first.status();
  // A rate that was not exceeded is not measured again.
  EXPECT_EQ(*rates.getAbove(BuildType::F32, ComputeType::FP32, 0.5 * *first), *first);
  double highest = *rates.getAbove(BuildType::F32, ComputeType::FP32, 1e3 * *first);
  EXPECT_GE(highest, *first);
  EXPECT_EQ(*rates.get(BuildType::F32, ComputeType::FP32), highest);
  EXPECT_FALSE(PeakRates({}, "cuda:99", 1, 0).getAbove(BuildType::F32, ComputeType::FP32, 1).ok());
}

TEST(ForecastTest, LittleWorkIsNotMeasured) {
  // A device that does not exist cannot be measured.
  PeakRates rates({}, "cuda:99", /*numThreads=*/1, /*seed=*/0);
  Forecast forecast;
  forecastTime({{2e9, 0.5}, {2e10, 1}}, rates, forecast);
  EXPECT_THAT(forecast.taskSeconds, ElementsAre(0.6, 2));
  EXPECT_THAT(forecast.timeBasis, HasSubstr("0.02 TFLOP at 20 GFLOP/s (a slow device's rate)"));
  Forecast large;
  forecastTime({{2e12, 0.5}}, rates, large);
  EXPECT_TRUE(large.taskSeconds.empty());
  EXPECT_THAT(large.timeBasis, HasSubstr("unknown: "));
}

} // namespace cs336::bench::forecast_test
