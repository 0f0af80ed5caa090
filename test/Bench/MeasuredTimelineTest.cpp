//===- MeasuredTimelineTest.cpp -------------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/MeasuredTimeline.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cs336::bench::measured_timeline_test {

using ::testing::HasSubstr;

/// Three commands, of which the second records an event.
MemoryTimeline makeTimeline() {
  MemoryTimeline timeline;
  timeline.device = "h200";
  for (const char *name : {"gemm_q", "record", "softmax"})
    timeline.commands.emplace_back().name = name;
  return timeline;
}

runtime::TracedCommand makeCommand(int64_t index, const char *entry, const char *name) {
  runtime::TracedCommand command;
  command.index = index;
  command.entry = entry;
  command.name = name;
  return command;
}

/// Two steps. The GEMM runs two kernels; copies of inputs belong to no command, and "prepare" is another entry.
runtime::Trace makeTrace() {
  runtime::Trace trace;
  trace.commands = {makeCommand(0, "prepare", "cast"), makeCommand(0, "train", "gemm_q"),
                    makeCommand(2, "train", "softmax")};
  auto add = [&](int64_t start, int64_t duration, int32_t command, uint64_t node) {
    trace.spans.push_back({.start_ns = start, .duration_ns = duration, .command = command, .graph_node = node});
  };
  add(0, 50, 0, 9);
  add(100, 5, runtime::TraceSpan::kNoCommand, 0);
  add(1000, 100, 1, 1); // The first step.
  add(1100, 50, 1, 2);
  add(1200, 200, 2, 3);
  add(5000, 120, 1, 1); // The second one.
  add(5130, 40, 1, 2);
  add(5200, 400, 2, 3);
  return trace;
}

/// Returns the timeline with the times of the entry in a trace.
absl::StatusOr<MemoryTimeline> measure(const runtime::Trace &trace, const char *entry, std::string device = "") {
  MeasuredTimes times(entry);
  times.add(trace);
  return times.apply(makeTimeline(), std::move(device));
}

TEST(MeasuredTimelineTest, PartsOfATraceAddUp) {
  runtime::Trace trace = makeTrace(), part = trace;
  MeasuredTimes times("train");
  part.spans.assign(trace.spans.begin(), trace.spans.begin() + 5);
  times.add(part);
  part.spans.assign(trace.spans.begin() + 5, trace.spans.end());
  times.add(part);
  absl::StatusOr<MemoryTimeline> timeline = times.apply(makeTimeline(), "");
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_DOUBLE_EQ(timeline->commands[0].end, 160e-9);
  EXPECT_DOUBLE_EQ(timeline->commands[2].end, 500e-9);
}

TEST(MeasuredTimelineTest, TimesAreMeansFromTheStartOfEachStep) {
  absl::StatusOr<MemoryTimeline> timeline = measure(makeTrace(), "train", "Fake GPU");
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_TRUE(timeline->isMeasured);
  EXPECT_EQ(timeline->device, "Fake GPU");
  const std::vector<TimedCommand> &commands = timeline->commands;
  EXPECT_DOUBLE_EQ(commands[0].start, 0);
  EXPECT_DOUBLE_EQ(commands[0].end, 160e-9); // 150 and 170.
  EXPECT_DOUBLE_EQ(commands[1].start, 160e-9);
  EXPECT_DOUBLE_EQ(commands[1].end, 160e-9);
  EXPECT_DOUBLE_EQ(commands[2].start, 200e-9);
  EXPECT_DOUBLE_EQ(commands[2].end, 500e-9); // 400 and 600.
  EXPECT_DOUBLE_EQ(timeline->getSeconds(), 500e-9);
}

TEST(MeasuredTimelineTest, OtherProgramsAreErrors) {
  EXPECT_EQ(measure(makeTrace(), "forward").status().code(), absl::StatusCode::kNotFound);
  runtime::Trace trace = makeTrace();
  trace.commands[2].name = "adamw";
  EXPECT_THAT(std::string(measure(trace, "train").status().message()),
              HasSubstr("command 2 of entry 'train' ran as 'adamw', and is planned as 'softmax'"));
  trace = makeTrace();
  trace.commands[2].index = 3;
  EXPECT_THAT(std::string(measure(trace, "train").status().message()), HasSubstr("is planned as 'none'"));
}

} // namespace cs336::bench::measured_timeline_test
