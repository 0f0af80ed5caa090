//===- RankTraceFileTest.cpp - Traces that ranks hand over ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RankTraceFile.h"

#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336 {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RankTraceFileTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("rank-trace-file-test", folder)); }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }

  std::string getPath(int rank) const { return (folder + "/trace-" + std::to_string(rank) + ".jsonl").str(); }

  llvm::SmallString<128> folder;
};

RankTrace makeTrace(int rank) {
  RankTrace made{.rank = rank, .device = "cuda:1", .omitted = 7};
  runtime::Trace &trace = made.trace;
  trace.names = {"all_reduce", "a name\nof two lines"};
  runtime::TracedCommand &command = trace.commands.emplace_back();
  command.index = 3;
  command.stream = 1;
  command.entry = "train";
  command.name = "all_reduce_bucket0";
  command.source = "bucket0";
  command.layer = "layers.0";
  command.phase = "communication";
  command.kind = "collective";
  command.location = "model.py:3";
  command.flops = 1e12;
  command.bytes = 0.5;
  command.live_bytes = int64_t{1} << 40;
  command.arithmetic = "bf16";
  trace.spans = {{.start_ns = int64_t{1} << 60, .duration_ns = 6, .name = 1, .command = 0, .stream = 2},
                 {.start_ns = (int64_t{1} << 60) + 1, .duration_ns = 0, .graph_node = uint64_t{1} << 63}};
  return made;
}

TEST_F(RankTraceFileTest, AFileKeepsEverything) {
  RankTrace written = makeTrace(1);
  ASSERT_TRUE(writeRankTrace(written, folder).ok());
  ASSERT_TRUE(writeRankTrace(makeTrace(0), folder).ok());
  absl::StatusOr<RankTrace> read = readRankTrace(folder, 1);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rank, 1);
  EXPECT_EQ(read->device, written.device);
  EXPECT_EQ(read->omitted, written.omitted);
  EXPECT_EQ(read->trace.names, written.trace.names);
  ASSERT_EQ(read->trace.commands.size(), 1u);
  const runtime::TracedCommand &command = read->trace.commands[0], &expected = written.trace.commands[0];
  EXPECT_EQ(command.index, expected.index);
  EXPECT_EQ(command.stream, expected.stream);
  EXPECT_EQ(command.entry, expected.entry);
  EXPECT_EQ(command.name, expected.name);
  EXPECT_EQ(command.source, expected.source);
  EXPECT_EQ(command.layer, expected.layer);
  EXPECT_EQ(command.phase, expected.phase);
  EXPECT_EQ(command.kind, expected.kind);
  EXPECT_EQ(command.location, expected.location);
  EXPECT_EQ(command.flops, expected.flops);
  EXPECT_EQ(command.bytes, expected.bytes);
  EXPECT_EQ(command.live_bytes, expected.live_bytes);
  EXPECT_EQ(command.arithmetic, expected.arithmetic);
  ASSERT_EQ(read->trace.spans.size(), 2u);
  for (int i = 0; i != 2; ++i) {
    const runtime::TraceSpan &span = read->trace.spans[i], &other = written.trace.spans[i];
    EXPECT_EQ(span.start_ns, other.start_ns);
    EXPECT_EQ(span.duration_ns, other.duration_ns);
    EXPECT_EQ(span.name, other.name);
    EXPECT_EQ(span.command, other.command);
    EXPECT_EQ(span.stream, other.stream);
    EXPECT_EQ(span.graph_node, other.graph_node);
  }
}

TEST_F(RankTraceFileTest, ATraceMayHaveNoSpans) {
  ASSERT_TRUE(writeRankTrace({.rank = 2, .device = "cpu"}, folder).ok());
  absl::StatusOr<RankTrace> read = readRankTrace(folder, 2);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->device, "cpu");
  EXPECT_TRUE(read->trace.spans.empty());
}

TEST_F(RankTraceFileTest, ARankWithoutAFileWroteNoTrace) {
  absl::Status status = readRankTrace(folder, 3).status();
  EXPECT_EQ(status, absl::NotFoundError("rank 3 wrote no trace"));
}

TEST_F(RankTraceFileTest, DamagedFilesAreErrors) {
  auto readText = [&](const std::string &text) {
    std::ofstream(getPath(0)) << text;
    absl::Status status = readRankTrace(folder, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith("'" + getPath(0) + "': "));
    return std::string(status.message());
  };
  const std::string head = R"({"rank":0,"device":"cpu","omitted":0,"commands":[],"names":["add"]})";
  EXPECT_THAT(readText(""), HasSubstr("Unexpected EOF"));
  EXPECT_THAT(readText("{\"rank\":0}\n"), HasSubstr("missing value at (root).device"));
  EXPECT_THAT(readText(head + "\n[1,2,0,-1,0]\n"), EndsWith("expected six numbers"));
  EXPECT_THAT(readText(head + "\n[1,2,0,-1,0,0]\n[1,2,0"), HasSubstr("Expected , or ]"));
  for (const char *span : {"[1,2,1,-1,0,0]", "[1,2,-1,-1,0,0]", "[1,2,0,0,0,0]", "[1,2,0,-2,0,0]"})
    EXPECT_THAT(readText(head + "\n" + span), HasSubstr("but there are 1 names and 0 commands"));
}

TEST_F(RankTraceFileTest, FilesThatCannotBeUsedAreErrors) {
  std::string missing = (folder + "/none").str();
  absl::Status status = writeRankTrace(makeTrace(0), missing);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), StartsWith("cannot write '" + missing + "/trace-0.jsonl': "));

  ASSERT_FALSE(llvm::sys::fs::create_directory(getPath(0)));
  status = readRankTrace(folder, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "cannot read '" + getPath(0) + "': Is a directory");

  ASSERT_FALSE(llvm::sys::fs::create_link("/dev/full", getPath(1)));
  status = writeRankTrace(makeTrace(1), folder);
  EXPECT_EQ(status.message(), "cannot write '" + getPath(1) + "': No space left on device");
}

} // namespace
} // namespace cs336
