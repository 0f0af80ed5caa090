//===- RunProfileTest.cpp - Where the time of runs went --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RunProfile.h"

#include "CudaSessionFixture.h"
#include "device/cuda/CuptiApi.h"
#include "fake_cupti/FakeCupti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

namespace cs336 {
namespace {

/// A trace of spans without commands: name, start, duration and graph node.
runtime::Trace makeTrace(std::initializer_list<std::tuple<const char *, int64_t, int64_t, uint64_t>> spans) {
  runtime::Trace trace;
  for (auto [name, start, duration, node] : spans) {
    trace.spans.push_back({.start_ns = start,
                           .duration_ns = duration,
                           .name = static_cast<uint32_t>(trace.names.size()),
                           .graph_node = node});
    trace.names.push_back(name);
  }
  return trace;
}

TEST(RunProfileTest, TheWorkOfAGraphLeavesOutWhatFeedsIt) {
  GraphWork work = summarizeGraphWork(makeTrace({{"[CUDA memcpy Host-to-Device]", 0, 1000, /*node=*/0},
                                                 {"mul_c522", 1000, 10, /*node=*/7},
                                                 {"[CUDA memset]", 1020, 5, /*node=*/8},
                                                 {"[CUDA memcpy Device-to-Host]", 1030, 2000, /*node=*/0},
                                                 {"mul_c522", 3000, 20, /*node=*/7}}));
  EXPECT_EQ(work.nodes, 3);
  EXPECT_EQ(work.nanoseconds, 35);
  EXPECT_EQ(work.idleNanoseconds, 10); // From 1010 to 1020; what lies before 3000 is between replays.
  EXPECT_EQ(work.rangeNanoseconds, 25 + 20);
}

TEST(RunProfileTest, NodesThatOverlapLeaveNothingIdle) {
  // 0 to 100 with 10 to 20 in it, then from 105 on.
  GraphWork work = summarizeGraphWork(makeTrace({{"a", 0, 100, 1}, {"b", 10, 10, 2}, {"c", 105, 5, 3}}));
  EXPECT_EQ(work.nanoseconds, 115);
  EXPECT_EQ(work.idleNanoseconds, 5);
  EXPECT_EQ(work.rangeNanoseconds, 110);
  EXPECT_EQ(summarizeGraphWork(makeTrace({})).rangeNanoseconds, 0);
}

/// A profiler that finds no kernels.
class NoKernels : public runtime::KernelProfiler {
public:
  absl::Status Start() override { return absl::OkStatus(); }
  int64_t CountSpans() const override { return 0; }
  absl::StatusOr<runtime::Trace> Take() override { return runtime::Trace(); }
  absl::StatusOr<runtime::Trace> Stop() override { return runtime::Trace(); }
};

/// Delivers a kernel with each call, and counts as many as make a part.
class ManyKernels : public runtime::KernelProfiler {
public:
  absl::Status Start() override { return absl::OkStatus(); }
  int64_t CountSpans() const override { return RunProfiler::kPartSpans - (++calls % 2); }
  absl::StatusOr<runtime::Trace> Take() override { return makeTrace({{"mul_c522", 10, 5, 7}}); }
  absl::StatusOr<runtime::Trace> Stop() override { return Take(); }

private:
  mutable int calls = 0;
};

class RunProfilerTest : public runtime::testing::CudaSessionFixture {};

TEST_F(RunProfilerTest, OnlyProfiledRunsBeginBehindAGate) {
  std::unique_ptr<RunProfiler> profiler = RunProfiler::create(std::make_unique<NoKernels>());
  auto session = Create(runtime::testing::OtherLibrary());
  ASSERT_TRUE(session.ok()) << session.status();
  auto countGates = [&](int runs) {
    int before = fake.host_functions;
    for (int run = 0; run < runs; ++run)
      EXPECT_TRUE((*session)->Run("forward", {}, profiler->getObserver()).ok());
    return fake.host_functions - before;
  };
  EXPECT_EQ(countGates(2), 0);
  for (int profile = 0; profile < 2; ++profile) {
    ASSERT_TRUE(profiler->start(**session).ok());
    EXPECT_EQ(countGates(2), 2);
    ASSERT_TRUE(profiler->stop(**session).ok());
    EXPECT_EQ(countGates(2), 0);
  }
}

TEST_F(RunProfilerTest, ManySpansAreCollectedInParts) {
  std::unique_ptr<RunProfiler> profiler = RunProfiler::create(std::make_unique<ManyKernels>());
  auto session = Create(runtime::testing::OtherLibrary());
  ASSERT_TRUE(session.ok()) << session.status();
  int parts = 0;
  ASSERT_TRUE(profiler->start(**session, [&](const runtime::Trace &) { ++parts; }).ok());
  for (int run = 0; run < 4; ++run)
    EXPECT_TRUE(profiler->collect(**session).ok()); // Every second time there are enough spans.
  absl::StatusOr<RunProfile> profile = profiler->stop(**session);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(profile->getInstances(), 3);
  EXPECT_EQ(profile->graphWork->nodes, 3);
  EXPECT_EQ(profile->graphWork->rangeNanoseconds, 15);
}

TEST_F(RunProfilerTest, RunsAfterAFailedProfileHaveNoGate) {
  std::unique_ptr<RunProfiler> profiler = RunProfiler::create(std::make_unique<NoKernels>());
  auto session = Create(runtime::testing::OtherLibrary());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(profiler->start(**session).ok());
  fake.faulted = true;
  EXPECT_FALSE(profiler->stop(**session).ok());
  fake.faulted = false;
  ASSERT_TRUE((*session)->Run("forward", {}).ok());
  EXPECT_EQ(fake.host_functions, 0);
}

TEST_F(RunProfilerTest, CommandsAreTimedWithEventsIfCuptiRefuses) {
  using namespace runtime;
  Tensor x = testing::MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor tokens = testing::MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 5});
  constexpr DeviceId kDevice{DeviceKind::kCuda, 0};
  for (auto [result, reason] :
       {std::pair(cupti::kMultipleSubscribers, "cuptiSubscribe: FAKE_39 (39): another tool profiles this process"),
        std::pair(cupti::kInsufficientPrivileges, "cuptiSubscribe: FAKE_35 (35): the driver reserves profiling")}) {
    FakeCuptiFailSubscribe(result);
    absl::StatusOr<std::unique_ptr<RunProfiler>> profiler = RunProfiler::create(kDevice);
    ASSERT_TRUE(profiler.ok()) << profiler.status();
    EXPECT_EQ(FakeCuptiEnabledKinds(), 0);
    auto session = Create(testing::CudaSampleProgram());
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->InitializeVariables(7).ok());
    ASSERT_TRUE((*profiler)->start(**session).ok());
    RunObserver *observer = (*profiler)->getObserver();
    ASSERT_NE(observer, nullptr);
    int launched = fake.graphs_launched;
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE((*session)->Run("train", {{"x", x}, {"tokens", tokens}}, observer).ok());
    EXPECT_EQ(fake.graphs_launched, launched);
    absl::StatusOr<RunProfile> profile = (*profiler)->stop(**session);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_THAT(profile->note, ::testing::StartsWith("commands were timed with events, one after the other and without "
                                                     "graphs: " +
                                                     std::string(reason)));
    EXPECT_FALSE(profile->graphWork);
    // Two launches, two copies, a collective, and an event that is recorded and awaited, in each run.
    EXPECT_EQ(profile->getInstances(), 14);
  }
  // The refusals have left nothing behind.
  absl::StatusOr<std::unique_ptr<RunProfiler>> profiler = RunProfiler::create(kDevice);
  ASSERT_TRUE(profiler.ok()) << profiler.status();
  EXPECT_EQ((*profiler)->getObserver(), nullptr);
  EXPECT_EQ(FakeCuptiEnabledKinds(), 4);
}

TEST(RunProfileTest, RowsAreByKeyAndPhase) {
  runtime::Trace trace;
  auto addCommand = [&](const char *name, const char *source, const char *phase, const char *kind) {
    runtime::TracedCommand &command = trace.commands.emplace_back();
    command.name = name;
    command.source = source;
    command.phase = phase;
    command.kind = kind;
  };
  addCommand("gemm_w2", "layers.0.ffn.w2", "forward", "gemm");
  addCommand("gemm_w2", "layers.1.ffn.w2", "backward", "gemm");
  addCommand("cast_add_5e0f", "layers.1.ln1", "forward", "launch");
  trace.names = {"cublas<64>", "cast_add_5e0f", "[CUDA memset]"};
  trace.spans = {{0, 10, 0, 0}, {10, 30, 0, 1}, {40, 5, 1, 2}, {50, 2, 2, runtime::TraceSpan::kNoCommand}};
  RunProfile profile;
  profile.add(trace);

  auto print = [&](ProfileKey key) {
    std::vector<std::string> lines;
    for (const RunProfile::Row &row : profile.getRows(key))
      lines.push_back(row.phase + "/" + row.name + "=" + std::to_string(row.times.getTotal()));
    return lines;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(print(ProfileKey::Kernel), ElementsAre("backward/cublas<64>=30", "forward/cublas<64>=10",
                                                     "forward/cast_add_5e0f=5", "/[CUDA memset]=2"));
  EXPECT_THAT(print(ProfileKey::Kind),
              ElementsAre("backward/gemm=30", "forward/gemm=10", "forward/cast_add=5", "/inputs and outputs=2"));
  EXPECT_THAT(print(ProfileKey::Operation), ElementsAre("backward/layers.*.ffn.w2=30", "forward/layers.*.ffn.w2=10",
                                                        "forward/layers.*.ln1=5", "/inputs and outputs=2"));
  EXPECT_THAT(print(ProfileKey::Range),
              ElementsAre("backward/ffn=30", "forward/ffn=10", "forward/norm=5", "/inputs and outputs=2"));
  EXPECT_THAT(print(ProfileKey::Layer), ElementsAre("backward/layers.1=30", "forward/layers.0=10", "forward/layers.1=5",
                                                    "/inputs and outputs=2"));
  EXPECT_THAT(print(ProfileKey::Phase),
              ElementsAre("backward/backward=30", "forward/forward=15", "/inputs and outputs=2"));
}

TEST(RunProfileTest, AMillionSpansTakeBoundedMemory) {
  runtime::Trace step;
  for (const char *source : {"layers.0.ln1", "layers.0.attn.q_proj", "layers.1.ln1", "lm_head"}) {
    runtime::TracedCommand &command = step.commands.emplace_back();
    command.source = command.name = source;
    command.phase = "forward";
    step.names.push_back(source);
  }
  auto makePart = [&](int64_t firstStep, int64_t steps) {
    runtime::Trace part = step;
    for (int64_t i = 4 * firstStep; i != 4 * (firstStep + steps); ++i)
      part.spans.push_back({.start_ns = 100 * i,
                            .duration_ns = 1 + i % 50,
                            .name = static_cast<uint32_t>(i % 4),
                            .command = static_cast<int32_t>(i % 4)});
    return part;
  };
  constexpr int64_t kParts = 10, kSteps = 25'000;
  size_t before = mallinfo2().uordblks;
  RunProfile profile;
  for (int64_t part = 0; part != kParts; ++part)
    profile.add(makePart(part * kSteps, kSteps));
  EXPECT_LT(mallinfo2().uordblks - before, size_t(1) << 16); // 64 KiB.
  EXPECT_EQ(profile.getInstances(), 1'000'000);
  EXPECT_EQ(profile.getNanoseconds(), 25'500'000);
  EXPECT_TRUE(profile.hasEstimatedMedians());
  EXPECT_EQ(profile.getRangeInstances(":forward/norm"), 500'000); // Twice per step, also at the borders of parts.
  EXPECT_EQ(profile.getRows(ProfileKey::Phase).front().times.getMedian(), 25.5);
}

TEST(RunProfileTest, RangesFollowTheImportersNames) {
  auto range = [](const char *source, const char *phase = "forward", const char *name = "gemm_x",
                  const char *kind = "gemm") {
    runtime::TracedCommand command;
    command.source = source;
    command.phase = phase;
    command.name = name;
    command.kind = kind;
    return getRange(command);
  };
  EXPECT_EQ(range("layers.3.attn.qkv_proj"), "qkv");
  EXPECT_EQ(range("layers.3.attn.scores"), "scores");
  EXPECT_EQ(range("layers.3.attn.scores", "backward", "attention_backward_39de", "launch"), "attention");
  EXPECT_EQ(range("layers.3.ffn.gate"), "ffn");
  EXPECT_EQ(range("layers.3.ffn.residual"), "residual");
  EXPECT_EQ(range("lm_head"), "head");
  EXPECT_EQ(range("adamw", "optimizer"), "optimizer");
  EXPECT_EQ(range("layers.3.attn.q_proj.weight", "communication"), "communication");
  EXPECT_EQ(range("blocks.11.conv"), "blocks.*.conv"); // A name that the importer does not give.
  EXPECT_EQ(range("", "forward", "mul_add_77a1", "launch"), "mul_add");
}

} // namespace
} // namespace cs336
