//===- RunProfileTest.cpp - The table of kernels --------------------------===//
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

TEST(RunProfileTest, KernelsHaveTheColumnsOfNsys) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printKernels(runtime::SummarizeKernels({{"mul_c522", 0, 10, 0}, {"gemm<64>", 10, 300, 0}, {"mul_c522", 400, 90, 0}}),
               stream);
  EXPECT_EQ(
      text,
      R"(Time (%)  Total Time (ns)  Instances      Avg (ns)      Med (ns)    Min (ns)    Max (ns)  StdDev (ns)  Name
    75.0              300          1         300.0         300.0         300         300          0.0  gemm<64>
    25.0              100          2          50.0          50.0          10          90         56.6  mul_c522
     all              400          3
)");
}

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

TEST(RunProfileTest, AFewNamesAndTheSumOfAll) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printKernels(runtime::SummarizeKernels({{"mul_c522", 0, 10, 0}, {"gemm<64>", 10, 300, 0}}), stream, /*most=*/1);
  EXPECT_THAT(text, ::testing::HasSubstr("gemm<64>"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("mul_c522")));
  EXPECT_THAT(text, ::testing::EndsWith("     all              310          2\n"));
}

TEST(RunProfileTest, NothingRanIsATableToo) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printKernels({}, stream);
  EXPECT_THAT(text, ::testing::EndsWith("     all                0          0\n"));
}

} // namespace
} // namespace cs336
