//===- ComparisonTest.cpp - Verdicts on ratios of times -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Compare/Comparison.h"

#include <gtest/gtest.h>

#include <limits>

namespace cs336::bench::comparison_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ComparisonTest, TheWholeIntervalDecides) {
  EXPECT_EQ(judge({1.5, 1.3, 1.7}, 0.25), Verdict::Faster);
  EXPECT_EQ(judge({1.5, 1.2, 1.7}, 0.25), Verdict::NoDifference);
  EXPECT_EQ(judge({0.7, 0.6, 0.79}, 0.25), Verdict::Slower);
  EXPECT_EQ(judge({0.7, 0.6, 0.81}, 0.25), Verdict::NoDifference);
}

TEST(ComparisonTest, TheToleranceItselfIsNoDifference) {
  EXPECT_EQ(judge({1.25, 1.25, 1.25}, 0.25), Verdict::NoDifference);
  EXPECT_EQ(judge({0.8, 0.8, 0.8}, 0.25), Verdict::NoDifference);
  EXPECT_EQ(judge({1, 1, 1}, 0), Verdict::NoDifference);
}

TEST(ComparisonTest, WideIntervalsShowNothing) {
  EXPECT_EQ(judge({5, -kInfinity, kInfinity}, 0), Verdict::Unknown);
  EXPECT_EQ(judge({1, 0.8, 1.3}, 0.25), Verdict::Unknown);
  EXPECT_EQ(judge({3, 1.3, 9}, 0.25), Verdict::Faster);
}

} // namespace cs336::bench::comparison_test
