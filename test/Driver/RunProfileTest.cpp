//===- RunProfileTest.cpp - Where the time of runs went --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RunProfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336 {
namespace {

TEST(RunProfileTest, TheWorkOfAGraphLeavesOutWhatFeedsIt) {
  GraphWork work = summarizeGraphWork({{"[CUDA memcpy Host-to-Device]", 0, 1000, /*graph_node=*/0},
                                       {"mul_c522", 1000, 10, /*graph_node=*/7},
                                       {"[CUDA memset]", 1020, 5, /*graph_node=*/8},
                                       {"[CUDA memcpy Device-to-Host]", 1030, 2000, /*graph_node=*/0},
                                       {"mul_c522", 3000, 20, /*graph_node=*/7}});
  EXPECT_EQ(work.nodes, 3);
  EXPECT_EQ(work.nanoseconds, 35);
  EXPECT_EQ(work.idleNanoseconds, 10); // From 1010 to 1020; what lies before 3000 is between replays.
}

TEST(RunProfileTest, NodesThatOverlapLeaveNothingIdle) {
  // In whatever order records come: 0 to 100 with 10 to 20 in it, then from 105 on.
  GraphWork work = summarizeGraphWork({{"c", 105, 5, 3}, {"a", 0, 100, 1}, {"b", 10, 10, 2}});
  EXPECT_EQ(work.nanoseconds, 115);
  EXPECT_EQ(work.idleNanoseconds, 5);
}

TEST(RunProfileTest, RowsOfBothDevicesAreAlike) {
  RunProfile profile;
  profile.commands = {{"forward", "gemm_w2", absl::Milliseconds(3), 6}};
  profile.kernels = runtime::SummarizeKernels({{"mul_c522", 0, 10, 0}, {"mul_c522", 400, 90, 0}});
  std::vector<RunProfile::Row> rows = profile.getRows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].phase, "forward");
  EXPECT_EQ(rows[0].name, "gemm_w2");
  EXPECT_EQ(rows[0].runs, 6);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 3e-3);
  EXPECT_EQ(rows[1].phase, "");
  EXPECT_EQ(rows[1].name, "mul_c522");
  EXPECT_EQ(rows[1].runs, 2);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 100e-9);
}

} // namespace
} // namespace cs336
