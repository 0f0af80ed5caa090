//===- ThreadTeamTest.cpp - Threads that share a loop ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "parallel/Parallel.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <atomic>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cs336::runtime {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::unique_ptr<ThreadTeam> MakeTeam(int threads) {
  auto team = ThreadTeam::Create(threads);
  EXPECT_TRUE(team.ok()) << team.status();
  return *std::move(team);
}

TEST(ThreadTeamTest, CallsEachPartOnce) {
  // Also with more threads than cores.
  for (int threads : {1, 2, 3, 8, 40}) {
    auto team = MakeTeam(threads);
    ASSERT_EQ(team->size(), threads);
    for (int parts = 1; parts <= threads; ++parts)
      for (int repeat = 0; repeat != 20; ++repeat) {
        std::vector<int> calls(parts);
        team->Run(parts, [&](int part) { ++calls[part]; });
        ASSERT_THAT(calls, Each(1)) << threads << " threads, " << parts << " parts";
      }
  }
}

TEST(ThreadTeamTest, FinishesLoopsOfAnyLengthOneAfterAnother) {
  auto team = MakeTeam(4);
  int64_t sum = 0;
  std::vector<int64_t> found(4);
  for (int loop = 0; loop != 20000; ++loop) {
    int parts = loop % 4 + 1;
    team->Run(parts, [&](int part) { found[part] += loop; });
    sum += int64_t{loop} * parts;
    // Loops then find workers that poll, that fall asleep, and that sleep.
    if (loop % 1000 == 999)
      std::this_thread::sleep_for(std::chrono::microseconds(loop % 3 * 100));
  }
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t{0}), sum);
}

TEST(ThreadTeamTest, LoopsWithinLoopsRunOnTheirThread) {
  auto team = MakeTeam(3);
  TeamScope scope(team.get());
  std::atomic<int> inner{0};
  ParallelFor(3, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(MaxThreads(), 1);
    std::thread::id outer = std::this_thread::get_id();
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      inner += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(inner, 300);
  EXPECT_EQ(MaxThreads(), 3);
}

TEST(ThreadTeamTest, ScopesNest) {
  auto outer = MakeTeam(3), inner = MakeTeam(2);
  EXPECT_EQ(MaxThreads(), 1);
  {
    TeamScope scope(outer.get());
    EXPECT_EQ(MaxThreads(), 3);
    {
      TeamScope scope(inner.get());
      EXPECT_EQ(MaxThreads(), 2);
    }
    EXPECT_EQ(MaxThreads(), 3);
  }
  EXPECT_EQ(MaxThreads(), 1);
}

TEST(ThreadTeamTest, RefusesCountsThatCannotBe) {
  for (int threads : {-1, kMostThreads + 1, 40000, 1000000}) {
    absl::Status status = ThreadTeam::Create(threads).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << threads;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("num_threads is ", threads)));
  }
}

TEST(ThreadTeamTest, TakesTheDefaultFromTheEnvironmentOrTheProcessors) {
  const char *given = std::getenv("OMP_NUM_THREADS");
  std::string before = given ? given : "";
  unsetenv("OMP_NUM_THREADS");
  int processors = DefaultThreadCount();
  EXPECT_GE(processors, 1);
  for (auto [text, threads] : std::vector<std::pair<const char *, int>>{{"3", 3},
                                                                        {"5,2", 5},
                                                                        {" 2 ", 2},
                                                                        {"", processors},
                                                                        {"0", processors},
                                                                        {"-4", processors},
                                                                        {"many", processors},
                                                                        {"100000", kMostThreads},
                                                                        {"99999999999", processors}}) {
    setenv("OMP_NUM_THREADS", text, 1);
    EXPECT_EQ(DefaultThreadCount(), threads) << '"' << text << '"';
  }
  if (given)
    setenv("OMP_NUM_THREADS", before.c_str(), 1);
  else
    unsetenv("OMP_NUM_THREADS");
}

/// Runs `body` in a child process. It must return true within 20 seconds.
template <typename Body>
void ExpectInChild(const Body &body) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadTeamTest, KnowsThatItIsFromAnotherProcess) {
  auto team = MakeTeam(4);
  team->Run(4, [](int) {});
  EXPECT_FALSE(team->IsFromAnotherProcess());
  ExpectInChild([&] {
    if (!team->IsFromAnotherProcess())
      return false;
    team = MakeTeam(4); // Destroys the parent's team, whose workers do not exist here.
    std::atomic<int> calls{0};
    team->Run(4, [&](int) { ++calls; });
    return calls == 4;
  });
  std::atomic<int> calls{0};
  team->Run(4, [&](int) { ++calls; });
  EXPECT_EQ(calls, 4);
}

// Sanitizers reserve more address space than any limit.
#ifndef CS336_TEST_SANITIZED
TEST(ThreadTeamTest, SaysThatThreadsDoNotStart) {
  ExpectInChild([] {
    rlimit limit{256 << 20, 256 << 20}; // Less than the stacks of a thousand threads.
    setrlimit(RLIMIT_AS, &limit);
    absl::Status status = ThreadTeam::Create(1000).status();
    return status.code() == absl::StatusCode::kResourceExhausted && absl::StrContains(status.message(), " of 1000") &&
           absl::StrContains(status.message(), "--num-threads");
  });
}
#endif

} // namespace
} // namespace cs336::runtime
