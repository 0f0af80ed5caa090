//===- GatherWaitsTest.cpp - Tests of waits for gathers -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/GatherWaits.h"

#include <gtest/gtest.h>

#include <utility>

namespace cs336::bench::gather_waits_test {
using cs336::runtime::Trace;
using cs336::runtime::TracedCommand;
using cs336::runtime::TraceSpan;

/// An entry to which commands are added, and a trace to which spans are added, in microseconds.
class GatherWaitsTest : public ::testing::Test {
protected:
  static constexpr uint32_t kCompute = 0, kExchange = 1; // Streams.

  GatherWaitsTest() {
    entry.name = "train";
    entry.streams = 2;
  }

  size_t compute(format::Phase phase = format::Phase::forward) { return add(kCompute, phase, format::LaunchT()); }
  size_t collective(format::CollectiveKind kind, uint32_t stream = kExchange) {
    format::CollectiveT body;
    body.kind = kind;
    return add(stream, format::Phase::communication, std::move(body));
  }
  size_t gather(uint32_t stream = kExchange) { return collective(format::CollectiveKind::all_gather, stream); }
  /// Records an event in a stream, and returns it.
  uint32_t record(uint32_t stream = kExchange) {
    format::RecordT body;
    body.event = entry.events++;
    add(stream, format::Phase::communication, body);
    return body.event;
  }
  void wait(uint32_t event, uint32_t stream = kCompute) {
    format::WaitT body;
    body.event = event;
    add(stream, format::Phase::communication, body);
  }

  void run(size_t position, int64_t start, int64_t duration, uint64_t node = 0) {
    TracedCommand command;
    command.entry = entry.name;
    command.index = static_cast<int64_t>(position);
    trace.commands.push_back(command);
    trace.spans.push_back({.start_ns = start * 1000,
                           .duration_ns = duration * 1000,
                           .command = static_cast<int32_t>(trace.commands.size() - 1),
                           .graph_node = node});
  }
  /// Adds the spans again, at a later time.
  void repeat(int64_t later) {
    size_t count = trace.spans.size();
    for (size_t i = 0; i != count; ++i) {
      TraceSpan span = trace.spans[i];
      span.start_ns += later * 1000;
      trace.spans.push_back(span);
    }
  }

  GatherWaits measure() const { return GatherUses(entry).measure(trace); }

  format::EntryT entry;
  Trace trace;

private:
  template <typename Body>
  size_t add(uint32_t stream, format::Phase phase, Body body) {
    auto command = std::make_unique<format::CommandT>();
    command->stream = stream;
    command->phase = phase;
    command->body.Set(std::move(body));
    entry.commands.push_back(std::move(command));
    return entry.commands.size() - 1;
  }
};

/// A gather that runs beside a first command, and a second command that waits for it.
class OneGatherTest : public GatherWaitsTest {
protected:
  size_t gathered = gather();
  uint32_t event = record();
  size_t first = compute();
  size_t second = (wait(event), compute());
};

TEST_F(OneGatherTest, EmptyTraceHasNoWaits) { EXPECT_EQ(measure(), GatherWaits()); }

TEST_F(OneGatherTest, GatherThatEndsBeforeTheComputationIsInTime) {
  run(gathered, 0, 80);
  run(first, 0, 100);
  run(second, 105, 10); // The gap is not a wait for the gather.
  EXPECT_EQ(measure(), GatherWaits());
}

TEST_F(OneGatherTest, LateGatherIsWaitedForFromTheEndOfTheComputation) {
  run(gathered, 0, 130);
  run(first, 0, 100);
  run(second, 135, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 30'000}));
}

TEST_F(OneGatherTest, ShortWaitIsNotLate) {
  run(gathered, 0, 101);
  run(first, 0, 100);
  run(second, 102, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 0, .waited = 1000}));
}

TEST_F(OneGatherTest, StepThatBeginsWithAGatherWaitsFromItsStart) {
  entry.commands.erase(entry.commands.begin() + static_cast<ptrdiff_t>(first));
  run(gathered, 20, 50);
  run(second - 1, 75, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 50'000}));
}

TEST_F(OneGatherTest, CommandsEndWithTheirLastKernel) {
  run(gathered, 0, 60, /*node=*/1);
  run(gathered, 100, 50, /*node=*/2);
  run(first, 0, 10, /*node=*/3);
  run(first, 90, 20, /*node=*/4);
  run(second, 150, 10, /*node=*/5);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 40'000}));
}

TEST_F(OneGatherTest, StepsAddUp) {
  run(gathered, 0, 130);
  run(first, 0, 100);
  run(second, 135, 10);
  Trace part = trace;
  repeat(1000);
  EXPECT_EQ(measure(), (GatherWaits{.late = 2, .waited = 60'000}));
  GatherWaits sum = measure();
  sum += GatherUses(entry).measure(part);
  EXPECT_EQ(sum, (GatherWaits{.late = 3, .waited = 90'000}));
}

TEST_F(OneGatherTest, OtherEntriesDoNotCount) {
  run(gathered, 0, 130);
  run(first, 0, 100);
  run(second, 135, 10);
  entry.name = "loss";
  EXPECT_EQ(measure(), GatherWaits());
}

TEST_F(GatherWaitsTest, EachOfSeveralGathersHasItsOwnUse) {
  size_t one = gather();
  uint32_t afterOne = record();
  size_t two = gather();
  uint32_t afterTwo = record();
  wait(afterOne);
  size_t first = compute();
  wait(afterTwo);
  size_t second = compute();
  run(one, 0, 20);
  run(two, 20, 30);
  run(first, 21, 40); // Hides the second gather.
  run(second, 62, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 20'000}));
}

TEST_F(GatherWaitsTest, TimeOfSeveralLateGathersCountsOnce) {
  size_t first = compute();
  size_t one = gather();
  size_t two = gather();
  wait(record());
  size_t second = compute();
  run(first, 0, 10);
  run(one, 0, 30);
  run(two, 30, 20);
  run(second, 51, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 2, .waited = 40'000}));
}

TEST_F(GatherWaitsTest, OnlyTheFirstUseOfALayerWaits) {
  size_t both = gather(); // Two layers.
  wait(record());
  size_t one = compute();
  wait(0);
  size_t two = compute();
  run(both, 0, 50);
  run(one, 51, 10);
  run(two, 80, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 50'000}));
}

TEST_F(GatherWaitsTest, WaitForALaterCollectiveCoversTheGather) {
  size_t first = compute();
  size_t gathered = gather();
  size_t reduced = collective(format::CollectiveKind::reduce_scatter);
  wait(record());
  size_t second = compute(format::Phase::backward);
  run(first, 0, 10);
  run(gathered, 0, 30);
  run(reduced, 30, 70);
  run(second, 100, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 20'000})) << "the reduction is not a gather";
}

TEST_F(GatherWaitsTest, ComputationBeforeTheWaitDoesNotUseTheGather) {
  size_t before = gather();
  uint32_t event = record();
  size_t gathered = gather();
  uint32_t later = record();
  wait(event); // Covers only the first gather.
  size_t first = compute();
  size_t second = compute();
  wait(later);
  size_t third = compute();
  run(before, 0, 2);
  run(gathered, 2, 43);
  run(first, 2, 18);
  run(second, 20, 20);
  run(third, 46, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 2, .waited = 7000}));
}

TEST_F(GatherWaitsTest, EndOfTheStepWaitsForGathersOfTheNextStep) {
  size_t first = compute(format::Phase::optimizer);
  wait(record(kCompute), kExchange);
  size_t gathered = gather();
  size_t second = compute(format::Phase::optimizer);
  run(first, 0, 10);
  run(gathered, 10, 40);
  run(second, 10, 25);
  EXPECT_EQ(measure(), (GatherWaits{.late = 1, .waited = 15'000}));
}

TEST_F(GatherWaitsTest, OneStreamWaitsForEveryGather) {
  entry.streams = 1;
  size_t first = compute();
  size_t one = gather(kCompute);
  size_t second = compute();
  size_t two = gather(kCompute);
  size_t third = compute();
  run(first, 0, 10);
  run(one, 10, 20);
  run(second, 30, 10);
  run(two, 42, 5);
  run(third, 47, 10);
  EXPECT_EQ(measure(), (GatherWaits{.late = 2, .waited = 27'000}));
}

} // namespace cs336::bench::gather_waits_test
