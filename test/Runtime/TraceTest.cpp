//===- TraceTest.cpp - What a device ran, and when ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Trace.h"

#include "profile/TraceBuilder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::trace_test {
namespace {

using ::testing::ElementsAre;

void AddSpan(TraceBuilder &builder, const char *name, int64_t start, int64_t duration) {
  builder.AddSpan(name, {.start_ns = start, .duration_ns = duration});
}

TEST(TraceTest, SpansAreInOrderOfStarts) {
  TraceBuilder builder;
  AddSpan(builder, "second", 20, 1);
  AddSpan(builder, "first", 10, 100);
  Trace trace = builder.Take();
  EXPECT_EQ(trace.names[trace.spans[0].name], "first");
  EXPECT_EQ(trace.names[trace.spans[1].name], "second");
}

TEST(TraceTest, CommandsAndNamesKeepTheirPositions) {
  TraceBuilder builder;
  CommandInfo forward = {.index = 0, .entry = "forward", .name = "a"},
              train = {.index = 0, .entry = "train", .name = "b"};
  EXPECT_EQ(builder.AddCommand(forward), 0);
  EXPECT_EQ(builder.AddCommand(train), 1);
  EXPECT_EQ(builder.AddCommand(forward), 0);
  builder.AddSpan("x", {.command = 1});
  EXPECT_EQ(builder.CountSpans(), 1);
  Trace trace = builder.Take();
  EXPECT_EQ(trace.FindCommand(trace.spans[0])->name, "b");
  EXPECT_EQ(builder.CountSpans(), 0);
  builder.AddSpan("y", {.command = 0});
  Trace next = builder.Take();
  EXPECT_THAT(next.names, ElementsAre("x", "y"));
  ASSERT_EQ(next.spans.size(), 1u);
  EXPECT_EQ(next.FindCommand(next.spans[0])->name, "a");
}

TEST(TraceTest, CommandsOfAnotherProgramAreOthers) {
  TraceBuilder builder;
  CommandInfo first = {.index = 0, .entry = "train", .name = "a", .flops = 1}, second = first, third = first;
  second.name = "b";
  third.flops = 2;
  EXPECT_EQ(builder.AddCommand(first), 0);
  EXPECT_EQ(builder.AddCommand(second), 1);
  EXPECT_EQ(builder.AddCommand(third), 2);
  EXPECT_EQ(builder.AddCommand(first), 0);
  EXPECT_EQ(builder.AddCommand(second), 1);
  EXPECT_EQ(builder.Take().commands.size(), 3u);
}

} // namespace
} // namespace cs336::runtime::trace_test
