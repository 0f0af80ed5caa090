//===- LaunchGateTest.cpp - Runs that wait for their launch ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/LaunchGate.h"

#include "CudaSessionFixture.h"
#include "cs336/runtime/TraceRecorder.h"

#include "absl/time/clock.h"
#include "absl/types/optional.h"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::launch_gate_test {
namespace {

using testing::AddKernel;
using testing::AddObject;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::EntryBuilder;
using ::testing::Ge;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::ProgramBuilder;

/// A limit that no test should reach, and a time that shows that none did.
constexpr absl::Duration kLongLimit = absl::Seconds(20), kShort = absl::Seconds(10);

/// Three kernels, of which each adds 1 to "count". Without inputs and outputs, a run enqueues nothing else.
ProgramBuilder CountingProgram() {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  AddObject(program, "sm_90a");
  program.Variable("count", MakeType(DType::kI64, {}), format::VariableKind::state);
  uint32_t increment = AddKernel(program, "increment");
  EntryBuilder entry = program.Entry("train", format::Mode::train);
  uint32_t count = entry.Variable("count");
  for (int i = 0; i != 3; ++i)
    entry.Launch(increment, {count}, {0}, 1);
  return program;
}

class LaunchGateTest : public testing::CudaSessionFixture {
protected:
  static std::unique_ptr<Session> CreateInitialized(bool use_graphs = true) {
    SessionOptions options;
    options.use_graphs = use_graphs;
    auto session = Create(CountingProgram(), options);
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_TRUE((*session)->InitializeVariables(0).ok());
    return *std::move(session);
  }

  /// Runs the program on a host that pauses after each command that it enqueues, until a kernel has run, for at most
  /// `pause`. Returns the number of kernels that have run after each pause.
  std::vector<int> RunSlowly(Session &session, absl::Duration pause, RunObserver *observer = nullptr) {
    std::vector<int> kernels;
    int before = fake.kernels_run;
    fake.at_enqueue = [&] {
      absl::Time end = absl::Now() + pause;
      while (fake.kernels_run == before && absl::Now() < end)
        absl::SleepFor(absl::Milliseconds(1));
      kernels.push_back(fake.kernels_run - before);
    };
    EXPECT_TRUE(session.Run("train", {}, observer).ok());
    fake.at_enqueue = nullptr;
    return kernels;
  }

  static int64_t CountOf(const Session &session) { return session.GetVariable("count")->values<int64_t>()[0]; }
};

TEST_F(LaunchGateTest, ARunBeginsWhenAllOfItIsEnqueued) {
  for (bool use_graphs : {true, false}) {
    SCOPED_TRACE(use_graphs);
    auto session = CreateInitialized(use_graphs);
    ASSERT_TRUE(session->GateRuns(kLongLimit).ok());
    absl::Time begin = absl::Now();
    for (int run = 1; run != 3; ++run) {
      EXPECT_THAT(RunSlowly(*session, absl::Milliseconds(20)), ElementsAre(0, 0, 0));
      ASSERT_TRUE(session->Synchronize().ok());
      EXPECT_EQ(CountOf(*session), 3 * run);
    }
    EXPECT_LT(absl::Now() - begin, kShort);
    // Same as without a gate: the events that time the run are behind it.
    EXPECT_EQ(*session->LastRunDuration("train"), absl::Milliseconds(use_graphs ? 1.25 : 1.5));
  }
}

TEST_F(LaunchGateTest, OtherRunsBeginAtOnce) {
  auto session = CreateInitialized();
  EXPECT_THAT(RunSlowly(*session, kShort), ElementsAre(1, 2, 3));
  ASSERT_TRUE(session->GateRuns(kLongLimit).ok());
  // An observer waits for each command.
  TraceRecorder observer;
  EXPECT_THAT(RunSlowly(*session, kShort, &observer), ElementsAre(1, 2, 3));
  ASSERT_TRUE(session->GateRuns(absl::ZeroDuration()).ok());
  EXPECT_THAT(RunSlowly(*session, kShort), ElementsAre(1, 2, 3));
  EXPECT_EQ(fake.host_functions, 0);
}

TEST_F(LaunchGateTest, AfterTheLimitARunBeginsInAnyCase) {
  auto session = CreateInitialized();
  ASSERT_TRUE(session->GateRuns(absl::Milliseconds(5)).ok());
  EXPECT_THAT(RunSlowly(*session, kShort), Each(Ge(1)));
  ASSERT_TRUE(session->Synchronize().ok());
  EXPECT_EQ(CountOf(*session), 3);
}

TEST_F(LaunchGateTest, AFailedLaunchOpensTheGate) {
  for (bool use_graphs : {true, false}) {
    SCOPED_TRACE(use_graphs);
    auto session = CreateInitialized(use_graphs);
    ASSERT_TRUE(session->GateRuns(kLongLimit).ok());
    int failed_gates = 0, failed_launches = 0;
    for (int number = 1;; ++number) {
      fake.calls = 0;
      fake.failed.clear();
      fake.failing_call = number;
      absl::Status status = session->Run("train", {});
      fake.failing_call = 0;
      absl::Time begin = absl::Now();
      ASSERT_TRUE(session->Synchronize().ok());
      EXPECT_LT(absl::Now() - begin, kShort) << fake.failed;
      if (fake.failed.empty())
        break;
      failed_gates += fake.failed == "cuLaunchHostFunc";
      failed_launches += fake.failed == (use_graphs ? "cuGraphLaunch" : "cuLaunchKernelEx");
      if (!status.ok()) {
        EXPECT_THAT(Message(status), HasSubstr(fake.failed));
      }
    }
    EXPECT_EQ(failed_gates, 1);
    EXPECT_EQ(failed_launches, use_graphs ? 1 : 3);
  }
}

TEST_F(LaunchGateTest, ASessionEndsWithAGatedRun) {
  auto session = CreateInitialized();
  ASSERT_TRUE(session->GateRuns(kLongLimit).ok());
  absl::Time begin = absl::Now();
  ASSERT_TRUE(session->Run("train", {}).ok());
  session.reset();
  EXPECT_LT(absl::Now() - begin, kShort);
  EXPECT_EQ(fake.kernels_run, 3);
}

/// The device reaches the wait of a gate that the host has opened and destroyed before.
TEST_F(LaunchGateTest, AGateMayBeGoneWhenTheDeviceReachesIt) {
  auto context = CudaContext::Create(0);
  ASSERT_TRUE(context.ok()) << context.status();
  CurrentContext current(**context);
  std::promise<void> reached;
  std::future<void> earlier_work = reached.get_future();
  ASSERT_TRUE((*context)
                  ->driver()
                  .LaunchHostFunc((*context)->stream(),
                                  [](void *work) { static_cast<std::future<void> *>(work)->wait(); }, &earlier_work)
                  .ok());
  {
    auto gate = LaunchGate::Close(**context, kLongLimit);
    ASSERT_TRUE(gate.ok()) << gate.status();
    LaunchGate moved = *std::move(gate);
  }
  absl::Time begin = absl::Now();
  reached.set_value();
  ASSERT_TRUE((*context)->WaitForStream().ok());
  EXPECT_LT(absl::Now() - begin, kShort);
  EXPECT_EQ(fake.host_functions, 2);
}

/// Moving a gate does not open it.
TEST_F(LaunchGateTest, OnlyTheEndOfAGateOpensIt) {
  auto context = CudaContext::Create(0);
  ASSERT_TRUE(context.ok()) << context.status();
  CurrentContext current(**context);
  absl::optional<LaunchGate> last;
  {
    auto gate = LaunchGate::Close(**context, kLongLimit);
    ASSERT_TRUE(gate.ok()) << gate.status();
    last.emplace(*std::move(gate));
  }
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(absl::IsCancelled((*context)->driver().StreamQuery((*context)->stream())));
  last.reset();
  ASSERT_TRUE((*context)->WaitForStream().ok());
}

TEST_F(LaunchGateTest, RefusesLimitsOutOfRange) {
  auto session = CreateInitialized();
  for (absl::Duration limit : {absl::Seconds(-1), absl::Seconds(61), absl::InfiniteDuration()}) {
    absl::Status status = session->GateRuns(limit);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status),
                HasSubstr("the limit of gated runs is " + absl::FormatDuration(limit) + ", must be from 0 to 1m"));
  }
  ASSERT_TRUE(session->Run("train", {}).ok());
  EXPECT_EQ(fake.host_functions, 0);
}

} // namespace
} // namespace cs336::runtime::launch_gate_test
