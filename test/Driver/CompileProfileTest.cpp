//===- CompileProfileTest.cpp - Where the time of a compilation goes ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/CompileProfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace cs336 {
namespace {

using testing::ElementsAre;

void Sleep(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(CompileProfileTest, TimersHaveRunsAndTheTimersAroundThem) {
  CompileProfile profile;
  {
    mlir::TimingScope root = profile.getRootScope();
    mlir::TimingScope pipeline = root.nest("pipeline");
    for (int run = 0; run < 3; ++run) {
      mlir::TimingScope pass = pipeline.nest("Canonicalizer");
      Sleep(2);
    }
    pipeline.stop();
    mlir::TimingScope kernels = root.nest("kernels");
  }
  std::vector<TimedPhase> phases = profile.getPhases();
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].name, "pipeline");
  EXPECT_TRUE(phases[0].outer.empty());
  EXPECT_EQ(phases[1].name, "Canonicalizer");
  EXPECT_THAT(phases[1].outer, ElementsAre("pipeline"));
  EXPECT_EQ(phases[1].runs, 3);
  EXPECT_GE(phases[1].seconds, 0.006);
  EXPECT_LE(phases[1].seconds, phases[0].seconds);
  EXPECT_EQ(phases[2].name, "kernels");
}

TEST(CompileProfileTest, ThreadsShareATimer) {
  CompileProfile profile;
  {
    mlir::TimingScope root = profile.getRootScope();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        mlir::TimingScope scope = root.nest("NVRTC");
        Sleep(10);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  std::vector<TimedPhase> phases = profile.getPhases();
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].runs, 4);
  EXPECT_GE(phases[0].seconds, 0.04);
}

TEST(CompileProfileTest, TimersWithinAHiddenOneTakeItsPlace) {
  CompileProfile profile;
  {
    mlir::TimingScope root = profile.getRootScope();
    mlir::TimingScope hidden = root.nest("hidden");
    hidden.hide();
    mlir::TimingScope pass = hidden.nest("CSE");
  }
  std::vector<TimedPhase> phases = profile.getPhases();
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].name, "CSE");
  EXPECT_TRUE(phases[0].outer.empty());
}

} // namespace
} // namespace cs336
