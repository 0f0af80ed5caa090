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

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;

void AddSpan(TraceBuilder &builder, const char *name, int64_t start, int64_t duration) {
  builder.AddSpan(name, {.start_ns = start, .duration_ns = duration});
}

TEST(TraceTest, SummariesAddUpByKey) {
  TraceBuilder builder;
  for (auto [name, start, duration] : std::initializer_list<std::tuple<const char *, int64_t, int64_t>>{
           {"b", 0, 10}, {"a", 10, 300}, {"b", 400, 30}, {"b", 500, 20}, {"b", 600, 40}})
    AddSpan(builder, name, start, duration);
  Trace trace = builder.Take();
  std::vector<SpanSummary> summaries =
      SummarizeSpans(trace, [&](const TraceSpan &span) { return trace.names[span.name]; });
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].key, "a");
  EXPECT_EQ(summaries[0].share, 0.75);
  EXPECT_EQ(summaries[0].instances, 1);
  EXPECT_EQ(summaries[0].median, 300);
  EXPECT_EQ(summaries[0].standard_deviation, 0);
  EXPECT_EQ(summaries[1].key, "b");
  EXPECT_EQ(summaries[1].total, 100);
  EXPECT_EQ(summaries[1].instances, 4);
  EXPECT_EQ(summaries[1].average, 25);
  EXPECT_EQ(summaries[1].median, 25);
  EXPECT_EQ(summaries[1].shortest, 10);
  EXPECT_EQ(summaries[1].longest, 40);
  EXPECT_NEAR(summaries[1].standard_deviation, 12.9099, 1e-4);
  EXPECT_TRUE(SummarizeSpans({}, [](const TraceSpan &) { return ""; }).empty());
}

TEST(TraceTest, SpansAreInOrderOfStarts) {
  TraceBuilder builder;
  AddSpan(builder, "second", 20, 1);
  AddSpan(builder, "first", 10, 100);
  Trace trace = builder.Take();
  EXPECT_EQ(trace.names[trace.spans[0].name], "first");
  EXPECT_EQ(trace.names[trace.spans[1].name], "second");
}

TEST(TraceTest, CommandsKeepTheirPositions) {
  TraceBuilder builder;
  CommandInfo forward = {.index = 0, .entry = "forward", .name = "a"},
              train = {.index = 0, .entry = "train", .name = "b"};
  EXPECT_EQ(builder.AddCommand(forward), 0);
  EXPECT_EQ(builder.AddCommand(train), 1);
  EXPECT_EQ(builder.AddCommand(forward), 0);
  builder.AddSpan("x", {.command = 1});
  Trace trace = builder.Take();
  EXPECT_EQ(trace.FindCommand(trace.spans[0])->name, "b");
  builder.AddSpan("y", {.command = 0});
  Trace next = builder.Take();
  EXPECT_THAT(next.names, ElementsAre("y"));
  ASSERT_EQ(next.spans.size(), 1u);
  EXPECT_EQ(next.FindCommand(next.spans[0])->name, "a");
}

} // namespace
} // namespace cs336::runtime
