//===- TraceOutputTest.cpp - The file of --trace --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/TraceOutput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::trace_output_test {

RankTrace traceKernels(size_t count) {
  RankTrace rank{1, "cpu"};
  runtime::Trace part;
  part.names = {"add_12ab"};
  for (size_t i = 0; i != count; ++i)
    part.spans.push_back({.start_ns = static_cast<int64_t>(i), .duration_ns = 1});
  rank.add(part);
  return rank;
}

/// Returns what standard error shows.
std::string write(const RankTrace &rank, llvm::StringRef path = "/dev/null") {
  ::testing::internal::CaptureStderr();
  absl::Status status = writeTraceFile(rank, path, "cs336-run");
  std::string text = ::testing::internal::GetCapturedStderr();
  return status.ok() ? text : text + std::string(status.message());
}

TEST(TraceOutputTest, OnlyLongTracesAreAnnounced) {
  EXPECT_EQ(write(traceKernels(99'999)), "");
  EXPECT_EQ(write(traceKernels(100'000)), "[1/1] /dev/null: 100000 events\n");
}

TEST(TraceOutputTest, OmittedEventsAreCounted) {
  EXPECT_THAT(write(traceKernels(RankTrace::kMostSpans)), ::testing::Not(::testing::HasSubstr("warning")));
  EXPECT_THAT(write(traceKernels(RankTrace::kMostSpans + 7)),
              ::testing::EndsWith("cs336-run: warning: --trace: '/dev/null' has the first 1000000 of 1000007 events of "
                                  "rank 1, because a trace has at most 1000000 per rank; --profile counts all\n"));
}

TEST(TraceOutputTest, AFullDiskIsAnError) {
  EXPECT_EQ(write(traceKernels(1), "/dev/full"), "cannot write the trace '/dev/full': No space left on device");
}

} // namespace cs336::bench::trace_output_test
