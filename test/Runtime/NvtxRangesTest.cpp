//===- NvtxRangesTest.cpp - Ranges around commands ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests the NVTX ranges of runs without graphs, with a fake tool and on the fake
// driver.
//
//===----------------------------------------------------------------------===//

#include "profile/NvtxRanges.h"
#include "CudaSessionFixture.h"
#include "fake_nvtx/FakeNvtx.h"

#include "absl/strings/match.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using testing::CudaSampleProgram;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeTensor;
using testing::ProgramBuilder;

class NvtxRangesTest : public testing::CudaSessionFixture {
protected:
  /// The library is loaded once, when the first domain is created.
  static void SetUpTestSuite() { setenv("NVTX_INJECTION64_PATH", CS336_TEST_NVTX, /*overwrite=*/1); }
  void SetUp() override {
    CudaSessionFixture::SetUp();
    tool.events.clear();
  }
  void TearDown() override {
    CudaSessionFixture::TearDown();
    EXPECT_THAT(tool.open, IsEmpty());
    EXPECT_THAT(tool.domains, IsEmpty());
  }

  /// Returns the sample program. Its first launch is an operation of a layer in the forward pass, the last one belongs
  /// to no layer.
  static ProgramBuilder Program() {
    ProgramBuilder program = CudaSampleProgram();
    for (auto &entry : program.executable().entries) {
      if (entry->name != "train")
        continue;
      for (auto &command : entry->commands) {
        command->name = "step";
        command->source.clear();
        command->phase = format::Phase::optimizer;
      }
      entry->commands.front()->name = "scale";
      entry->commands.front()->source = "layers.0.norm";
      entry->commands.front()->phase = format::Phase::forward;
    }
    return program;
  }

  static absl::StatusOr<std::unique_ptr<Session>> CreateInitialized(bool use_graphs) {
    SessionOptions options;
    options.use_graphs = use_graphs;
    auto session = Create(Program(), options);
    if (session.ok())
      if (absl::Status status = (*session)->InitializeVariables(7); !status.ok())
        return status;
    return session;
  }

  absl::Status Step(Session &session) const { return session.Run("train", {{"x", x}, {"tokens", tokens}}); }

  Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor tokens = MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 15});
  testing::FakeNvtx &tool = testing::TheFakeNvtx();
};

const std::vector<std::string> kRangesOfAStep = {"+train",         "+forward",  "+layers.0",  "+layers.0.norm",
                                                 "-layers.0.norm", "-layers.0", "-forward",   "+optimizer",
                                                 "+step",          "-step",     "-optimizer", "-train"};

TEST_F(NvtxRangesTest, SharesTheRangesThatFollowEachOther) {
  NvtxRanges ranges;
  EXPECT_THAT(tool.domains, ElementsAre("cs336"));
  CommandInfo command;
  command.entry = "train";
  command.phase = "forward";
  command.layer = "layers.0.attn";
  command.source = "layers.0.attn.q_proj";
  ranges.Enter(command);
  EXPECT_THAT(tool.open, ElementsAre("train", "forward", "layers.0.attn", "layers.0.attn.q_proj"));
  tool.events.clear();
  ranges.Enter(command); // The second kernel of the same operation.
  EXPECT_THAT(tool.events, IsEmpty());
  command.source = "layers.0.attn.softmax";
  ranges.Enter(command);
  EXPECT_THAT(tool.events, ElementsAre("-layers.0.attn.q_proj", "+layers.0.attn.softmax"));
  command.phase = "backward"; // The same operation, but the ranges around it differ.
  ranges.Enter(command);
  EXPECT_THAT(tool.open, ElementsAre("train", "backward", "layers.0.attn", "layers.0.attn.softmax"));
  command.source = command.layer = "";
  command.name = "copy_0";
  ranges.Enter(command);
  EXPECT_THAT(tool.open, ElementsAre("train", "backward", "copy_0"));
  ranges.Close();
  EXPECT_THAT(tool.open, IsEmpty());
}

TEST_F(NvtxRangesTest, ClosesRangesAtTheEnd) {
  NvtxRanges ranges;
  CommandInfo command;
  command.entry = "train";
  ranges.Enter(command);
  EXPECT_THAT(tool.open, ElementsAre("train"));
}

TEST_F(NvtxRangesTest, RunsWithoutGraphsHaveRanges) {
  auto session = CreateInitialized(/*use_graphs=*/false);
  ASSERT_TRUE(session.ok()) << session.status();
  tool.events.clear();
  ASSERT_TRUE(Step(**session).ok());
  EXPECT_THAT(tool.events, ElementsAreArray(kRangesOfAStep));
  tool.events.clear();
  ASSERT_TRUE(Step(**session).ok());
  EXPECT_THAT(tool.events, ElementsAreArray(kRangesOfAStep));
  EXPECT_EQ(fake.graphs_launched, 0);
  EXPECT_EQ(fake.kernels_run, 4); // Nothing runs when the session is created.
  EXPECT_EQ((*session)->Output("train", "y")->values<float>()[11], 11);
  EXPECT_EQ((*session)->GetVariable("step")->values<int64_t>()[0], 2);
}

TEST_F(NvtxRangesTest, GraphsHaveNoRanges) {
  auto session = CreateInitialized(/*use_graphs=*/true);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Step(**session).ok());
  EXPECT_THAT(tool.events, IsEmpty());
  EXPECT_EQ((*session)->Output("train", "y")->values<float>()[11], 11);
}

/// Tests every call of a step, so that each command fails once.
TEST_F(NvtxRangesTest, ErrorsCloseRanges) {
  auto session = CreateInitialized(/*use_graphs=*/false);
  ASSERT_TRUE(session.ok()) << session.status();
  int failed_launches = 0;
  for (int number = 1;; ++number) {
    tool.events.clear();
    fake.calls = 0;
    fake.failed.clear();
    fake.failing_call = number;
    absl::Status status = Step(**session);
    fake.failing_call = 0;
    if (fake.failed.empty())
      break;
    SCOPED_TRACE(fake.failed);
    EXPECT_THAT(tool.open, IsEmpty());
    bool is_launch = fake.failed == "cuLaunchKernelEx";
    EXPECT_EQ(absl::StrContains(Message(status), "launch '"), is_launch) << status;
    failed_launches += is_launch;
  }
  EXPECT_EQ(failed_launches, 2);
  ASSERT_TRUE((*session)->Synchronize().ok());
}

TEST_F(NvtxRangesTest, TellsToolsWhenToRecord) {
  auto session = CreateInitialized(/*use_graphs=*/false);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(Step(**session).ok());
  EXPECT_THAT(fake.recorded, IsEmpty());
  ASSERT_TRUE((*session)->StartTools().ok());
  ASSERT_TRUE(Step(**session).ok());
  ASSERT_TRUE((*session)->StopTools().ok());
  ASSERT_TRUE(Step(**session).ok());
  EXPECT_THAT(fake.recorded, ElementsAre("start after 2 kernels", "stop after 4 kernels"));
  fake.faulted = true;
  EXPECT_FALSE((*session)->StartTools().ok());
  EXPECT_FALSE((*session)->StopTools().ok());
  EXPECT_EQ(fake.recorded.size(), 2);
  fake.faulted = false;
}

} // namespace
} // namespace cs336::runtime
