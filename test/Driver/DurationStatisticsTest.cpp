//===- DurationStatisticsTest.cpp - Statistics in bounded memory ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/DurationStatistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <malloc.h>
#include <random>
#include <vector>

namespace cs336 {
namespace {

DurationStatistics summarize(const std::vector<int64_t> &durations) {
  DurationStatistics statistics;
  for (int64_t duration : durations)
    statistics.add(duration);
  return statistics;
}

/// Durations around one microsecond and around one millisecond.
std::vector<int64_t> drawDurations(size_t count) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> factor(0, 0.3);
  std::vector<int64_t> durations;
  for (size_t i = 0; i != count; ++i)
    durations.push_back(static_cast<int64_t>((i % 3 == 0 ? 1e3 : 1e6) * factor(random)));
  return durations;
}

double getMedian(std::vector<int64_t> durations) {
  std::sort(durations.begin(), durations.end());
  return 0.5 * static_cast<double>(durations[(durations.size() - 1) / 2] + durations[durations.size() / 2]);
}

TEST(DurationStatisticsTest, FewDurationsAreExact) {
  DurationStatistics statistics = summarize({10, 30, 20, 40});
  EXPECT_EQ(statistics.getTotal(), 100);
  EXPECT_EQ(statistics.getInstances(), 4);
  EXPECT_EQ(statistics.getAverage(), 25);
  EXPECT_EQ(statistics.getMedian(), 25);
  EXPECT_EQ(statistics.getShortest(), 10);
  EXPECT_EQ(statistics.getLongest(), 40);
  EXPECT_NEAR(statistics.getStandardDeviation(), 12.9099, 1e-4);
  EXPECT_EQ(summarize({300}).getMedian(), 300);
  EXPECT_EQ(summarize({300}).getStandardDeviation(), 0);
  EXPECT_EQ(DurationStatistics().getAverage(), 0);
  EXPECT_EQ(DurationStatistics().getMedian(), 0);
}

TEST(DurationStatisticsTest, OnlyTheMedianOfManyDurationsIsAnEstimate) {
  std::vector<int64_t> durations = drawDurations(1'000'000);
  size_t before = mallinfo2().uordblks;
  DurationStatistics statistics = summarize(durations);
  EXPECT_LT(mallinfo2().uordblks - before, size_t(1) << 18);
  EXPECT_TRUE(statistics.isMedianEstimated());
  EXPECT_EQ(statistics.getInstances(), 1'000'000);
  int64_t total = 0;
  double squares = 0;
  for (int64_t duration : durations)
    total += duration;
  double average = static_cast<double>(total) / 1e6;
  for (int64_t duration : durations)
    squares += (static_cast<double>(duration) - average) * (static_cast<double>(duration) - average);
  EXPECT_EQ(statistics.getTotal(), total);
  EXPECT_EQ(statistics.getAverage(), average);
  EXPECT_EQ(statistics.getShortest(), *std::min_element(durations.begin(), durations.end()));
  EXPECT_EQ(statistics.getLongest(), *std::max_element(durations.begin(), durations.end()));
  EXPECT_NEAR(statistics.getStandardDeviation() / std::sqrt(squares / 999'999), 1, 1e-9);
  EXPECT_NEAR(statistics.getMedian() / getMedian(durations), 1, 1.0 / 256);
}

TEST(DurationStatisticsTest, EstimatesAreInTheRangeOfTheDurations) {
  for (int64_t duration : {int64_t(0), int64_t(1), int64_t(255), int64_t(256), int64_t(1'000'000'007),
                           std::numeric_limits<int64_t>::max() / 4096}) {
    DurationStatistics statistics = summarize(std::vector<int64_t>(2000, duration));
    EXPECT_TRUE(statistics.isMedianEstimated());
    EXPECT_EQ(statistics.getMedian(), static_cast<double>(duration));
    EXPECT_EQ(statistics.getStandardDeviation(), 0);
  }
}

TEST(DurationStatisticsTest, SumsAreThoseOfAllDurations) {
  std::vector<int64_t> durations = drawDurations(1500);
  auto middle = durations.begin() + 700;
  DurationStatistics sum = summarize({durations.begin(), middle});
  sum.add(DurationStatistics());
  sum.add(summarize({middle, durations.end()}));
  EXPECT_FALSE(sum.isMedianEstimated());
  EXPECT_EQ(sum.getMedian(), getMedian(durations));
  DurationStatistics all = summarize(durations);
  EXPECT_EQ(sum.getTotal(), all.getTotal());
  EXPECT_EQ(sum.getShortest(), all.getShortest());
  EXPECT_EQ(sum.getLongest(), all.getLongest());
  EXPECT_NEAR(sum.getStandardDeviation() / all.getStandardDeviation(), 1, 1e-12);
  sum.add(all); // Which is an estimate.
  EXPECT_TRUE(sum.isMedianEstimated());
  EXPECT_EQ(sum.getInstances(), 3000);
  EXPECT_NEAR(sum.getMedian() / getMedian(durations), 1, 1.0 / 256);
}

} // namespace
} // namespace cs336
