//===- OverheadTest.cpp - The overhead of profiling -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/Overhead.h"

#include <gtest/gtest.h>

namespace cs336::bench::overhead_test {

TEST(OverheadTest, MoreThanThreePercentIsWarnedOf) {
  EXPECT_EQ(
      findOverheadWarning({1.5, 1.5, 1.6}, {1.2, 1.2, 1.3}).value_or(""),
      "profiled steps take more than 3 % longer than others: overhead of profiling: 25.0 % of a step, from 20.0 % "
      "to 29.2 % by the quartiles; 1.500 ms with the profiler, 1.200 ms without it, in a session before it (medians)");
  EXPECT_TRUE(findOverheadWarning({1.5}, {1.2}));
  EXPECT_FALSE(findOverheadWarning({1.02, 1.02, 1.02}, {1, 1, 1}));
  EXPECT_FALSE(findOverheadWarning({0.9, 0.9, 0.9}, {1, 1, 1}));
}

TEST(OverheadTest, NoiseIsNotWarnedOf) {
  EXPECT_FALSE(findOverheadWarning({1.0, 1.3, 1.6}, {0.9, 1.2, 1.5}));
  EXPECT_TRUE(findOverheadWarning({1.25, 1.3, 1.35}, {1.15, 1.2, 1.22}));
}

} // namespace cs336::bench::overhead_test
