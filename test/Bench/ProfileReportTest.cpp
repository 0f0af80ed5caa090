//===- ProfileReportTest.cpp - Where the time of runs went, as rows -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileReport.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunProfile profileKernels(std::vector<runtime::KernelRecord> records) {
  RunProfile profile;
  profile.kernels = runtime::SummarizeKernels(records);
  profile.graphWork = summarizeGraphWork(records);
  return profile;
}

std::string printProfile(const RunProfile &profile, size_t most = 100, std::vector<std::string> columns = {}) {
  Table table = makeProfileTable("profile", "all: " + describeTotal(profile), profile, most);
  if (!columns.empty())
    table.select(columns);
  return print({{}, {std::move(table)}, {}}, Format::Table);
}

TEST(ProfileReportTest, KernelsHaveTheColumnsOfNsys) {
  RunProfile profile = profileKernels({{"mul_c522", 0, 10, 0}, {"gemm<64>", 10, 300, 0}, {"mul_c522", 400, 90, 0}});
  EXPECT_EQ(printProfile(profile, 100, {"all"}),
            R"(all: 0.000 ms in 3 runs

Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name
    75.0              300          1     300.0     300.0       300       300          0.0  gemm<64>
    25.0              100          2      50.0      50.0        10        90         56.6  mul_c522
)");
}

TEST(ProfileReportTest, AFewNamesAndTheSumOfAll) {
  RunProfile profile = profileKernels({{"mul_c522", 0, 10000, 0}, {"gemm<64>", 10, 300000, 0}});
  std::string text = printProfile(profile, /*most=*/1);
  EXPECT_THAT(text, HasSubstr("gemm<64>"));
  EXPECT_THAT(text, Not(HasSubstr("mul_c522")));
  EXPECT_THAT(text, ::testing::StartsWith("all: 0.310 ms in 2 runs\n"));
}

TEST(ProfileReportTest, NothingRanIsATableToo) {
  EXPECT_THAT(printProfile(profileKernels({})), ::testing::StartsWith("all: 0.000 ms in 0 runs\n\nTime (%)"));
}

TEST(ProfileReportTest, CommandsHaveTheirShare) {
  RunProfile profile;
  profile.commands = {{"forward", "gemm_w2", absl::Milliseconds(3), 6},
                      {"backward", "mul_c5", absl::Milliseconds(1), 2}};
  EXPECT_EQ(printProfile(profile), R"(all: 4.000 ms in 8 runs

share  total (ms)  mean (ms)  runs  phase     command
75.0%       3.000     0.5000     6  forward   gemm_w2
25.0%       1.000     0.5000     2  backward  mul_c5
)");
}

TEST(ProfileReportTest, LongNamesFit) {
  std::string name = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8, "
                     "cutlass::epilogue::thread::LinearCombination<float, 4>>";
  RunProfile profile = profileKernels({{name, 0, 1234567890123, 1}});
  EXPECT_LE(getWidestLine(printProfile(profile)), 120);
  profile = {};
  profile.commands = {{"forward_backward", std::string(200, 'x'), absl::Hours(30), 123456}};
  EXPECT_LE(getWidestLine(printProfile(profile)), 120);
}

} // namespace
} // namespace cs336::bench
