//===- ExplainTest.cpp - Explained kernels --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/CompilationTime.h"
#include "cs336/Bench/Explain/ExplainReport.h"
#include "cs336/Bench/Explain/KernelNames.h"
#include "cs336/Bench/Explain/RecordedTimes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::explain_test {

using testing::ElementsAre;
using testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

const std::vector<llvm::StringRef> kNames{"attention_53f0", "attention_53f0_wide", "attention_backward_343f",
                                          "softmax_aac3"};

TEST(KernelNamesTest, AWholeNameIsTheOnlyOne) {
  EXPECT_THAT(*findKernels("attention_53f0", kNames), ElementsAre("attention_53f0"));
}

TEST(KernelNamesTest, PartsAndGlobsSelectSeveral) {
  EXPECT_THAT(*findKernels("attention", kNames),
              ElementsAre("attention_53f0", "attention_53f0_wide", "attention_backward_343f"));
  EXPECT_THAT(*findKernels("*_????", kNames),
              ElementsAre("attention_53f0", "attention_53f0_wide", "attention_backward_343f", "softmax_aac3"));
  EXPECT_THAT(*findKernels("soft*", kNames), ElementsAre("softmax_aac3"));
  EXPECT_EQ(findKernels("", kNames)->size(), 4u);
}

TEST(KernelNamesTest, ErrorsNameTheMostSimilarKernels) {
  absl::Status status = findKernels("sofmax_aac3", kNames).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unknown kernel 'sofmax_aac3': expected softmax_aac3,"));
  EXPECT_THAT(std::string(findKernels("[", kNames).status().message()), HasSubstr("is not a glob"));
  EXPECT_THAT(std::string(findKernels("a", {}).status().message()), HasSubstr("no kernels"));
}

//===----------------------------------------------------------------------===//
// Measured times
//===----------------------------------------------------------------------===//

/// A file of results with one row per text.
class RecordedTimesTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::createTemporaryFile("explain", "json", path)));
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  void write(llvm::StringRef rows, llvm::StringRef device = "cuda", llvm::StringRef benchmark = "model") {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    stream << llvm::formatv(R"({{"schema": "cs336.results", "version": 2, "benchmark": "{0}", "columns": [],
                               "device": {{"kind": "{1}"}, "results": [{2}]})",
                            benchmark, device, rows);
  }
  absl::StatusOr<RecordedTimes> read(const llvm::json::Object &settings = {}) {
    return RecordedTimes::read(path, Target::CUDA, settings, [](llvm::StringRef) { return std::vector<ColumnHead>(); });
  }
  std::string getError(const llvm::json::Object &settings = {}) {
    return std::string(read(settings).status().message());
  }

  llvm::SmallString<128> path;
};

/// 20 launches, of two functions each, and of one more kernel.
constexpr const char *kRow = R"({"mode": "train", "batch_size": 4, "profile": [
  {"name": "attention_1_queries", "total_ns": 40000, "instances": 20},
  {"name": "attention_1_keys", "total_ns": 60000, "instances": 20},
  {"name": "softmax_1", "total_ns": 5000, "instances": 5},
  {"name": "softmax_1", "total_ns": 4000, "instances": 1}]})";

ExplainedProgram makeProgram(std::vector<std::string> names) {
  ExplainedProgram program;
  program.target = Target::CUDA;
  program.entries = {"train"};
  for (const std::string &name : names) {
    KernelFacts &kernel = program.kernels.emplace_back();
    kernel.name = name;
    kernel.addLaunch("train", "forward", "layers.0.attn", "");
  }
  return program;
}

TEST_F(RecordedTimesTest, TheTimeOfALaunchIsThatOfItsFunctions) {
  write(kRow);
  ExplainedProgram program = makeProgram({"attention_1", "softmax_1"});
  for (const char *symbol : {"attention_1_queries", "attention_1_keys"}) {
    FunctionFacts &function = program.kernels[0].functions.emplace_back();
    function.function.symbol = symbol;
  }
  ASSERT_TRUE(read().ok()) << getError();
  ASSERT_TRUE(read()->addTo(program).ok());
  EXPECT_DOUBLE_EQ(program.kernels[0].measured->seconds, 5e-6);
  EXPECT_EQ(program.kernels[0].measured->launches, 20);
  EXPECT_DOUBLE_EQ(program.kernels[1].measured->seconds, 1.5e-6); // 9 us in 6 launches of two phases.
}

TEST_F(RecordedTimesTest, RecordsOfOtherProgramsAreErrors) {
  write(kRow);
  ExplainedProgram other = makeProgram({"gelu_2"});
  EXPECT_THAT(std::string(read()->addTo(other).message()),
              HasSubstr("it is of another program: its step 'train' has no kernel 'gelu_2'"));
  other.entries = {"forward", "prepare"};
  EXPECT_THAT(std::string(read()->addTo(other).message()),
              HasSubstr("it measured the entry 'train', and this program has forward, prepare"));
  EXPECT_THAT(getError(llvm::json::Object{{"batch_size", 8}}),
              HasSubstr("none of its 1 profiled rows is of this program: batch_size is 4, expected 8"));
  // A column that the record lacks is newer than the record.
  EXPECT_EQ(getError(llvm::json::Object{{"batch_size", 4}, {"checkpoint", 0}}), "");
  write(kRow, "cpu");
  EXPECT_THAT(getError(), HasSubstr("it was measured on cpu, and the program is for cuda"));
}

TEST_F(RecordedTimesTest, KernelsOfOtherEntriesHaveNoTime) {
  write(kRow);
  ExplainedProgram program = makeProgram({"tables_3"});
  program.kernels[0].launches.front().entry = "prepare";
  EXPECT_TRUE(read()->addTo(program).ok());
  EXPECT_FALSE(program.kernels[0].measured);
}

TEST_F(RecordedTimesTest, CommandsWithoutAKernelHaveTheirMeanTime) {
  write(R"({"mode": "train", "steps": 10, "profile": [
    {"name": "nvjet_1", "total_ns": 70000, "instances": 40, "commands": ["gemm_w13", "gemm_w2"]},
    {"name": "split_k", "total_ns": 20000, "instances": 10, "commands": ["gemm_w2"]}],
    "profile_commands": [
    {"name": "gemm_w13", "phase": "forward", "total_ns": 10000, "instances": 10},
    {"name": "gemm_w13", "phase": "backward", "total_ns": 50000, "instances": 20},
    {"name": "gemm_w2", "phase": "forward", "total_ns": 30000, "instances": 20}]})");
  ExplainedProgram program = makeProgram({"gemm_w13", "gemm_w2", "gemm_qkv"});
  for (KernelFacts &gemm : program.kernels)
    gemm.kind = "gemm";
  program.kernels[0].addLaunch("train", "backward", "layers.0.ffn", "");
  program.kernels[0].addLaunch("train", "backward", "layers.0.ffn", "");
  program.kernels[0].addLaunch("prepare", "prepare", "layers.0.ffn", "");
  ASSERT_TRUE(read().ok()) << getError();
  ASSERT_TRUE(read()->addTo(program).ok());
  EXPECT_DOUBLE_EQ(program.kernels[0].measured->seconds, 2e-6); // 60 us in 10 steps of three launches.
  EXPECT_EQ(program.kernels[0].measured->launches, 30);
  EXPECT_DOUBLE_EQ(program.kernels[1].measured->seconds, 3e-6); // Two kernels a launch.
  EXPECT_FALSE(program.kernels[2].measured);

  auto find = [&](llvm::StringRef kernel) {
    return *RecordedTimes::findCommands(path, kernel, [](llvm::StringRef) { return std::vector<ColumnHead>(); });
  };
  EXPECT_THAT(find("nvjet_1"), ElementsAre("gemm_w13", "gemm_w2"));
  EXPECT_THAT(find("nvjet_2"), ElementsAre());
}

TEST_F(RecordedTimesTest, FilesWithoutOneProfileAreErrors) {
  write(R"({"mode": "train", "profile": null})");
  EXPECT_THAT(getError(), HasSubstr("it has no profile"));
  write(kRow, "cuda", "plan");
  EXPECT_THAT(getError(), HasSubstr("it has no profile"));
  write((kRow + llvm::Twine(",") + kRow).str());
  EXPECT_THAT(getError(), HasSubstr("2 of its profiled rows may be of this program"));
  write(R"({"mode": "train", "profile": [{"name": "softmax_1"}]})");
  EXPECT_THAT(getError(), HasSubstr("lacks 'name', 'total_ns' or 'instances'"));
}

//===----------------------------------------------------------------------===//
// Compile time
//===----------------------------------------------------------------------===//

TEST(CompilationTimeTest, PassesOfOneNameAreOneRow) {
  std::vector<TimedPhase> phases{{"pipeline", {}, 1, 10},
                                 {"CSE", {"pipeline"}, 1, 1},
                                 {"'func.func' Pipeline", {"pipeline"}, 1, 5},
                                 {"CSE", {"pipeline", "'func.func' Pipeline"}, 2, 2},
                                 {"(A) DominanceInfo", {"pipeline", "'func.func' Pipeline", "CSE"}, 1, 1},
                                 {"DecomposePass", {"pipeline", "'func.func' Pipeline"}, 1, 4},
                                 {"kernels", {}, 1, 20},
                                 {"NVRTC: 1 of 2 cubins", {"kernels"}, 1, 19},
                                 {"softmax_1 sm_90a", {"kernels", "NVRTC: 1 of 2 cubins"}, 1, 18}};
  CompilationTime time = summarizeCompilation(phases, {{"gelu_2", "sm_90a", true}, {"softmax_1", "sm_90a", false}});
  ASSERT_EQ(time.passes.size(), 2u);
  EXPECT_EQ(time.passes[0].name, "DecomposePass");
  EXPECT_EQ(time.passes[1].name, "CSE");
  EXPECT_EQ(time.passes[1].runs, 3);
  EXPECT_DOUBLE_EQ(time.passes[1].seconds, 3);
  ASSERT_EQ(time.phases.size(), 3u);
  EXPECT_EQ(time.phases[2].name, "kernels: NVRTC: 1 of 2 cubins");
  ASSERT_EQ(time.kernels.size(), 2u);
  EXPECT_EQ(time.kernels[0].kernel.kernel, "softmax_1");
  EXPECT_DOUBLE_EQ(time.kernels[0].seconds, 18);
  EXPECT_EQ(time.countCacheHits(), 1);
  llvm::json::Object object = toJSON(time);
  EXPECT_EQ(object.getInteger("cache_hits"), 1);
  EXPECT_EQ(object.getInteger("cache_misses"), 1);
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

TEST(ExplainReportTest, LaunchesOfEqualLayersAreOneRow) {
  KernelFacts kernel;
  kernel.addLaunch("train", "forward", "layers.0.attn.values", "\"layers.0.attn.values\"");
  kernel.addLaunch("train", "forward", "layers.1.attn.values", "\"layers.1.attn.values\"");
  kernel.addLaunch("train", "backward", "layers.1.attn.values", "");
  ASSERT_EQ(kernel.launches.size(), 2u);
  EXPECT_EQ(kernel.launches[0].operation, "layers.*.attn.values");
  EXPECT_EQ(kernel.launches[0].count, 2);
  EXPECT_EQ(kernel.launches[0].layers.size(), 2u);
  EXPECT_EQ(kernel.launches[0].location, "\"layers.0.attn.values\"");
  EXPECT_EQ(kernel.countLaunches(), 3);
}

TEST(ExplainReportTest, WorkIsTheMeanOfAllLaunches) {
  DeviceModel device = *findDeviceModel("cpu"); // 10 GB/s, 20 GFLOP/s, 5 us for a command.
  KernelFacts gemm;
  EXPECT_EQ(gemm.getFlops(), 0);
  for (double flops : {2e6, 4e6}) {
    exec::Work work;
    work.gemms = 1;
    work.flops = flops;
    work.bytes = 6e5 / flops * 1e6; // 300 and 150 kB: 30 and 15 us beside 100 and 200 us.
    gemm.addWork(work, format::Arithmetic::f32, device);
    gemm.addLaunch("train", "forward", "lm_head", "");
  }
  EXPECT_DOUBLE_EQ(gemm.getFlops(), 3e6);
  EXPECT_DOUBLE_EQ(gemm.getBytes(), 225e3);
  EXPECT_DOUBLE_EQ(gemm.getExpectedSeconds(), 155e-6);
  EXPECT_EQ(gemm.getPredicted().getBound(), Bound::Compute);
}

TEST(ExplainReportTest, OccupancyIsOfStaticAndDynamicSharedMemory) {
  FunctionFacts function;
  function.architecture = "sm_90a";
  function.function.threads = 128;
  function.function.sharedBytes = 100 * 1024;
  function.resources = CubinResources{"f", 32, 0, 13 * 1024};
  addOccupancy(function);
  EXPECT_EQ(function.occupancy->blocks, 2);
  function.resources->staticSharedBytes += 1;
  addOccupancy(function);
  EXPECT_EQ(function.occupancy->blocks, 1);
}

} // namespace cs336::bench::explain_test
