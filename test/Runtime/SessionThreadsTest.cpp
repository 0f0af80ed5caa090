//===- SessionThreadsTest.cpp - Threads and children of sessions ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "SessionParts.h"
#include "cs336/runtime/Session.h"
#include "parallel/Parallel.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cs336::runtime {
namespace {

using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeSession;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::SampleInputs;
using testing::SampleProgram;
using testing::WithThreads;

TEST(SessionThreadsTest, CommandsSplitRowsByGrain) {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("record_range");
  EntryBuilder entry = program.Entry("forward");
  uint32_t ranges = entry.Output("ranges", MakeType(DType::kI64, {10, 2}));
  entry.Launch(kernel, {ranges}, {0}, 10, /*grain=*/4);
  auto session = MakeSession(program, WithThreads(8));
  ASSERT_TRUE(session->Run("forward", {}).ok());
  absl::Span<const int64_t> found = session->Output("forward", "ranges")->values<int64_t>();
  int64_t next = 0;
  for (int64_t row = 0; row != 10; ++row) {
    int64_t begin = found[2 * row], end = found[2 * row + 1];
    EXPECT_LE(begin, row);
    EXPECT_LT(row, end);
    if (row == next) {
      EXPECT_EQ(begin, next);
      EXPECT_GE(end - begin, 3); // Ten rows in three ranges.
      next = end;
    }
  }
  EXPECT_EQ(next, 10);
}

TEST(SessionThreadsTest, ThreadsHaveMemoryOfTheirOwn) {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("remember_in_thread_memory");
  EntryBuilder entry = program.Entry("forward");
  uint32_t calls = entry.Output("calls", MakeType(DType::kI64, {10, 4}));
  entry.Launch(kernel, {calls}, {0}, /*rows=*/10, /*grain=*/4, /*thread_bytes=*/256);
  for (int threads : {1, 8}) {
    auto session = MakeSession(program, WithThreads(threads));
    ASSERT_TRUE(session->Run("forward", {}).ok());
    absl::Span<const int64_t> found = session->Output("forward", "calls")->values<int64_t>();
    std::map<int64_t, int64_t> memory_of_range;
    for (int64_t row = 0; row != 10; ++row) {
      absl::Span<const int64_t> call = found.subspan(4 * row, 4);
      EXPECT_LE(call[0], row);
      EXPECT_LT(row, call[1]);
      EXPECT_EQ(call[2] % 64, 0);
      EXPECT_EQ(call[3], call[0]);
      EXPECT_EQ(memory_of_range.emplace(call[0], call[2]).first->second, call[2]);
    }
    EXPECT_EQ(memory_of_range.size(), std::min(threads, 3));
    for (auto [range, memory] : memory_of_range)
      for (auto [other_range, other] : memory_of_range)
        EXPECT_TRUE(range == other_range || std::abs(memory - other) >= 256);
  }
}

TEST(SessionThreadsTest, MemoryOfThreadsCounts) {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("remember_in_thread_memory");
  EntryBuilder entry = program.Entry("forward");
  uint32_t calls = entry.Output("calls", MakeType(DType::kI64, {10, 4}));
  entry.Launch(kernel, {calls}, {0}, /*rows=*/10, /*grain=*/1, /*thread_bytes=*/1 << 20);
  SessionOptions options = WithThreads(4);
  options.memory_limit_bytes = 4 * (int64_t{1} << 20);
  auto session = Session::Create(*program.Build(), options);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(session.status()), HasSubstr(absl::StrCat("workspace of GEMMs and kernels ", 4, ".00 MiB")));
}

TEST(SessionThreadsTest, RunsDoNotChangeTheCallersThreadCount) {
  int before = MaxThreads();
  auto session = MakeSession(SampleProgram(), WithThreads(before + 1));
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  ASSERT_TRUE(session->Run("train", SampleInputs().named()).ok());
  EXPECT_EQ(MaxThreads(), before);
}

/// Builds a GEMM that takes long enough for two threads to overlap.
ProgramBuilder GemmProgram() {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {256, 256}));
  entry.Gemm(x, x, entry.Output("y", MakeType(DType::kF32, {256, 256})));
  return program;
}

TEST(SessionThreadsTest, OneThreadAtATime) {
  auto session = MakeSession(GemmProgram(), WithThreads(2));
  std::atomic<int> runs{0}, refusals{0};
  auto run_often = [&] {
    Tensor x = *Tensor::Create({DType::kF32, {256, 256}});
    for (int i = 0; i != 100; ++i) {
      absl::Status status = session->Run("forward", {{"x", x}});
      ++(status.ok() ? runs : refusals);
      if (!status.ok()) {
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_THAT(Message(status), HasSubstr("in use by another thread"));
      }
    }
  };
  std::thread other(run_often);
  run_often();
  other.join();
  EXPECT_GT(runs, 0);
  EXPECT_EQ(runs + refusals, 200);

  // A nested call, which an observer could make.
  class Caller : public RunObserver {
  public:
    explicit Caller(Session &session) : session_(session) {}
    absl::Status OnCommandDone(const CommandInfo &, absl::Duration, absl::Span<const WrittenTensor>) override {
      return session_.Synchronize();
    }

  private:
    Session &session_;
  } caller(*session);
  Tensor x = *Tensor::Create({DType::kF32, {256, 256}});
  EXPECT_EQ(session->Run("forward", {{"x", x}}, &caller).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(session->Run("forward", {{"x", x}}).ok());
}

TEST(SessionThreadsTest, RunsInAChildOfFork) {
  auto session = MakeSession(GemmProgram(), WithThreads(4));
  Tensor x = *Tensor::Create({DType::kF32, {256, 256}});
  for (float &value : x.mutable_values<float>())
    value = 1;
  ASSERT_TRUE(session->Run("forward", {{"x", x}}).ok());
  auto is_right = [&](Session &session) {
    return session.Run("forward", {{"x", x}}).ok() && session.Output("forward", "y")->values<float>()[65535] == 256;
  };
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    bool inherited = is_right(*session), own = is_right(*MakeSession(GemmProgram(), WithThreads(4)));
    session.reset();
    _exit(inherited && own ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(is_right(*session));
}

TEST(SessionThreadsTest, SameSeedSameBits) {
  auto run = [](int threads) {
    auto session = MakeSession(SampleProgram(), WithThreads(threads));
    EXPECT_TRUE(session->InitializeVariables(11).ok());
    EXPECT_TRUE(session->Run("train", SampleInputs().named()).ok());
    TensorView y = *session->Output("train", "y");
    return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
  };
  EXPECT_EQ(run(2), run(2));
  EXPECT_EQ(run(1), run(4)); // Small enough that sums are not split.
}

} // namespace
} // namespace cs336::runtime
