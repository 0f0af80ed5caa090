//===- OverlapTest.cpp - Tests of exposed communication -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/Overlap.h"

#include <gtest/gtest.h>

namespace cs336::bench::overlap_test {
using cs336::runtime::Trace;
using cs336::runtime::TracedCommand;
using cs336::runtime::TraceSpan;

/// Times are in microseconds.
static Overlap makeOverlap(int64_t communication, int64_t compute, int64_t exposed) {
  return {.communication = 1000 * communication, .compute = 1000 * compute, .exposed = 1000 * exposed};
}

/// A trace with one command per phase, to which spans are added.
class OverlapTest : public ::testing::Test {
protected:
  static constexpr int32_t kBackward = 0, kCommunication = 1, kOptimizer = 2;

  OverlapTest() {
    for (const char *phase : {"backward", "communication", "optimizer"})
      trace.commands.emplace_back().phase = phase;
  }

  /// Adds a span of a command. Times are in microseconds.
  void add(int32_t command, int64_t start, int64_t duration, uint32_t stream = 0) {
    TraceSpan &span = trace.spans.emplace_back();
    span.start_ns = 1000 * start;
    span.duration_ns = 1000 * duration;
    span.command = command;
    span.stream = stream;
  }

  Trace trace;
};

TEST_F(OverlapTest, EmptyTraceHasNoTimes) { EXPECT_EQ(computeOverlap(trace), Overlap()); }

TEST_F(OverlapTest, OneAfterAnotherIsExposed) {
  add(kBackward, 0, 100);
  add(kCommunication, 100, 50);
  add(kOptimizer, 150, 30);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(50, 130, 50));
}

TEST_F(OverlapTest, HiddenCommunicationIsNotExposed) {
  add(kBackward, 0, 100);
  add(kCommunication, 20, 50, /*stream=*/1);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(50, 100, 0));
}

TEST_F(OverlapTest, PartIsExposed) {
  add(kCommunication, 10, 60, /*stream=*/1); // From 10 to 70: hidden from 20 to 30 and from 40 to 60.
  add(kBackward, 20, 10);
  add(kBackward, 40, 20);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(60, 30, 30));
}

TEST_F(OverlapTest, CollectivesAtOnceCountTwiceAndAreExposedOnce) {
  add(kCommunication, 0, 40, /*stream=*/1);
  add(kCommunication, 20, 40, /*stream=*/2);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(80, 0, 60));
}

TEST_F(OverlapTest, KernelsAtOnceAreOneTimeOfComputation) {
  add(kBackward, 0, 50);
  add(kOptimizer, 30, 50, /*stream=*/1);
  add(kCommunication, 40, 100, /*stream=*/2);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(100, 80, 60));
}

TEST_F(OverlapTest, CopiesOfInputsHideNothing) {
  add(TraceSpan::kNoCommand, 0, 100);
  add(kCommunication, 0, 30, /*stream=*/1);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(30, 0, 30));
}

TEST_F(OverlapTest, GapsBetweenCommandsAreNeither) {
  add(kBackward, 0, 10);
  add(kCommunication, 50, 10);
  add(kOptimizer, 90, 10);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(10, 20, 10));
}

TEST_F(OverlapTest, LaunchesAreNotExposed) {
  add(kBackward, 0, 10);
  add(kBackward, 11, 10);
  add(kBackward, 23, 10);
  add(kCommunication, 0, 40, /*stream=*/1);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(40, 30, 9)); // 21 to 23, and 33 to 40.
}

TEST_F(OverlapTest, TimeBeforeTheFirstComputationIsExposed) {
  add(kCommunication, 0, 1);
  add(kBackward, 1, 10);
  EXPECT_EQ(computeOverlap(trace), makeOverlap(1, 10, 1));
}

} // namespace cs336::bench::overlap_test
