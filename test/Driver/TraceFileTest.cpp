//===- TraceFileTest.cpp - Traces for ui.perfetto.dev ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/TraceFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <tuple>

namespace cs336 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace json = llvm::json;

/// Two steps of three commands from two layers. Each span takes 1.001 microseconds, and the next starts 1.5 later.
/// `nodes` holds a step's commands, and the nodes that they are in a graph.
runtime::Trace makeTrace(int64_t start, std::vector<std::pair<int32_t, uint64_t>> nodes) {
  runtime::Trace trace;
  auto addCommand = [&](const char *name, const char *source, const char *phase) {
    runtime::TracedCommand &command = trace.commands.emplace_back();
    command.index = static_cast<int64_t>(trace.commands.size()) - 1;
    command.entry = "train";
    command.name = command.kind = name;
    command.source = source;
    command.phase = phase;
    command.flops = 8008;
    command.bytes = 4004;
    command.live_bytes = 3 << 19;
  };
  addCommand("gemm", "layers.0.attn.q_proj", "forward");
  addCommand("add", "layers.1.ffn.w2", "forward");
  addCommand("adamw", "", "optimizer");
  trace.names = {"kernel"};
  for (int step = 0; step != 2; ++step)
    for (auto [command, node] : nodes) {
      trace.spans.push_back(
          {.start_ns = start, .duration_ns = 1001, .command = command, .stream = 7, .graph_node = node});
      start += 1500;
    }
  return trace;
}

runtime::Trace makeCpuTrace(int64_t start = 5'000'000'000) { return makeTrace(start, {{0, 0}, {1, 0}, {2, 0}}); }
/// The GEMM is two kernels.
runtime::Trace makeGpuTrace() { return makeTrace(0, {{0, 1}, {0, 2}, {1, 3}, {2, 4}}); }

/// Returns the events of a type, as texts of some of their members.
std::vector<std::string> getEvents(llvm::ArrayRef<RankTrace> ranks, llvm::StringRef type,
                                   llvm::ArrayRef<const char *> members, int64_t thread = -1) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printTrace(ranks, os);
  llvm::Expected<json::Value> document = json::parse(text);
  if (!document)
    return {llvm::toString(document.takeError())};
  std::vector<std::string> events;
  for (const json::Value &value : *document->getAsObject()->getArray("traceEvents")) {
    const json::Object &event = *value.getAsObject();
    if (*event.getString("ph") != type || (thread != -1 && *event.getInteger("tid") != thread))
      continue;
    std::string line;
    for (const char *member : members)
      line += (line.empty() ? "" : " ") + llvm::formatv("{0}", *event.get(member)).str();
    events.push_back(std::move(line));
  }
  return events;
}

TEST(TraceFileTest, SpansHaveTheTimesSinceTheFirst) {
  EXPECT_THAT(getEvents({{0, "cpu", makeCpuTrace()}}, "X", {"name", "ts", "dur"}, /*thread=*/9),
              ElementsAre(R"("kernel" 0 1.0009999999999999)", R"("kernel" 1.5 1.0009999999999999)",
                          R"("kernel" 3 1.0009999999999999)", R"("kernel" 4.5 1.0009999999999999)",
                          R"("kernel" 6 1.0009999999999999)", R"("kernel" 7.5 1.0009999999999999)"));
}

TEST(TraceFileTest, RangesAreNestedAndEndWithTheirLastSpan) {
  // The inner ranges come first: they end first.
  std::vector<std::string> step = {R"("layers.0.attn.q_proj" 0)",
                                   R"("layers.0" 0)",
                                   R"("layers.1.ffn.w2" 1.5)",
                                   R"("layers.1" 1.5)",
                                   R"("forward" 0)",
                                   R"("adamw" 3)",
                                   R"("optimizer" 3)",
                                   R"("step 1: train" 0)"};
  std::vector<std::string> events = getEvents({{0, "cpu", makeCpuTrace()}}, "X", {"name", "ts"}, /*thread=*/1);
  ASSERT_EQ(events.size(), 2 * step.size());
  EXPECT_EQ(std::vector<std::string>(events.begin(), events.begin() + 8), step);
  EXPECT_EQ(events.back(), R"("step 2: train" 4.5)");
  EXPECT_EQ(getEvents({{0, "cpu", makeCpuTrace()}}, "X", {"dur"}, /*thread=*/1)[7], "4.0010000000000003");
}

TEST(TraceFileTest, ACommandOfTwoKernelsIsOneRange) {
  std::vector<std::string> events = getEvents({{0, "cuda:0", makeGpuTrace()}}, "X", {"name", "dur"}, /*thread=*/1);
  ASSERT_EQ(events.size(), 16u);
  EXPECT_EQ(events[0], R"("layers.0.attn.q_proj" 2.5009999999999999)");
  // Its rates are those of both kernels together: 4004 bytes in 2.002 microseconds.
  std::vector<std::string> counters = getEvents({{0, "cuda:0", makeGpuTrace()}}, "C", {"name", "ts", "args"});
  ASSERT_EQ(counters.size(), 18u);
  EXPECT_THAT(llvm::ArrayRef(counters).take_front(3),
              ElementsAre(R"("live memory" 0 {"MiB":1.5})", R"("memory rate" 0 {"GB/s":2})",
                          ::testing::StartsWith(R"("arithmetic rate" 0 {"TFLOP/s":0.00)")));
}

/// Two steps of a graph on two streams of the program. In each, a gather of three copies runs beside two layers.
runtime::Trace makeTraceOfTwoStreams() {
  runtime::Trace trace;
  for (auto [index, stream, phase, source] :
       {std::tuple(0, 1, "communication", "layers.1"), {1, 0, "forward", "layers.0"}, {2, 0, "forward", "layers.1"}}) {
    runtime::TracedCommand &command = trace.commands.emplace_back();
    command.index = index;
    command.stream = stream;
    command.entry = "train";
    command.phase = phase;
    command.name = command.kind = command.source = source;
    command.bytes = 6000;
  }
  trace.names = {"kernel"};
  for (int64_t step = 0; step != 2; ++step)
    for (auto [start, command, node] :
         {std::tuple(0, 0, 1), {500, 1, 2}, {1000, 0, 3}, {1750, 2, 4}, {2000, 0, 5}, {2500, 2, 6}})
      trace.spans.push_back({.start_ns = 10000 * step + start,
                             .duration_ns = 1000,
                             .command = command,
                             .stream = static_cast<uint32_t>(command == 0 ? 8 : 7),
                             .graph_node = static_cast<uint64_t>(node)});
  return trace;
}

TEST(TraceFileTest, StreamsOfTheProgramHaveRangesOfTheirOwn) {
  std::vector<RankTrace> ranks = {{0, "cuda:0", makeTraceOfTwoStreams()}};
  EXPECT_THAT(getEvents(ranks, "X", {"name", "ts", "dur"}, /*thread=*/1),
              ElementsAre(R"("layers.0" 0.5 1)", R"("layers.1" 1.75 1.75)", R"("forward" 0.5 3)",
                          R"("step 1: train" 0.5 3)", R"("layers.0" 10.5 1)", R"("layers.1" 11.75 1.75)",
                          R"("forward" 10.5 3)", R"("step 2: train" 10.5 3)"));
  EXPECT_THAT(getEvents(ranks, "X", {"name", "ts", "dur"}, /*thread=*/2),
              ElementsAre(R"("layers.1" 0 3)", R"("communication" 0 3)", R"("step 1: train" 0 3)", R"("layers.1" 10 3)",
                          R"("communication" 10 3)", R"("step 2: train" 10 3)"));
  EXPECT_EQ(getEvents(ranks, "X", {"ts"}, /*thread=*/3 + 8).size(), 6u);
  // The gather's rate is that of all its copies.
  EXPECT_EQ(getEvents(ranks, "C", {"name", "ts", "args"})[1], R"("memory rate" 0 {"GB/s":2})");
}

/// A kernel that begins before another one of its stream ends.
TEST(TraceFileTest, RangesOfOverlappingKernelsDoNotOverlap) {
  runtime::Trace trace = makeTrace(0, {{0, 1}, {1, 2}});
  trace.spans[1].start_ns = 750;
  EXPECT_THAT(llvm::ArrayRef(getEvents({{0, "cuda:0", trace}}, "X", {"name", "ts", "dur"}, /*thread=*/1)).take_front(4),
              ElementsAre(R"("layers.0.attn.q_proj" 0 0.75)", R"("layers.0" 0 0.75)",
                          R"("layers.1.ffn.w2" 0.75 1.0009999999999999)", R"("layers.1" 0.75 1.0009999999999999)"));
}

TEST(TraceFileTest, ArrowsLeadFromOperationsToTheirSpans) {
  EXPECT_THAT(llvm::ArrayRef(getEvents({{0, "cuda:0", makeGpuTrace()}}, "s", {"id", "tid", "ts"})).take_front(3),
              ElementsAre("1 1 0", "2 1 0", "3 1 3"));
  EXPECT_THAT(llvm::ArrayRef(getEvents({{0, "cuda:0", makeGpuTrace()}}, "f", {"id", "tid", "ts"})).take_front(3),
              ElementsAre("1 9 0", "2 9 1.5", "3 9 3"));
}

TEST(TraceFileTest, RanksAreProcessesWithOneClock) {
  std::vector<RankTrace> ranks = {{0, "cpu", makeCpuTrace(10000)}, {1, "cpu", makeCpuTrace(9000)}};
  EXPECT_THAT(getEvents(ranks, "M", {"pid", "name", "args"}),
              ElementsAre(R"(0 "process_name" {"name":"rank 0: cpu"})", R"(0 "thread_name" {"name":"model"})",
                          R"(0 "thread_name" {"name":"stream 7"})", R"(1 "process_name" {"name":"rank 1: cpu"})",
                          R"(1 "thread_name" {"name":"model"})", R"(1 "thread_name" {"name":"stream 7"})"));
  std::vector<std::string> starts = getEvents(ranks, "X", {"pid", "ts"}, /*thread=*/9);
  EXPECT_EQ(starts[0], "0 1");
  EXPECT_EQ(starts[6], "1 0");
}

TEST(TraceFileTest, CopiesOfInputsBelongToNoOperation) {
  runtime::Trace trace;
  trace.names = {"[CUDA memcpy Host-to-Device]"};
  trace.spans.push_back({.start_ns = 1, .duration_ns = 2});
  EXPECT_THAT(getEvents({{0, "cuda:0", trace}}, "X", {"name"}), ElementsAre(R"("[CUDA memcpy Host-to-Device]")"));
  EXPECT_THAT(getEvents({{0, "cuda:0", trace}}, "s", {"name"}), IsEmpty());
  EXPECT_THAT(getEvents({{0, "cpu", {}}}, "X", {"name"}), IsEmpty());
}

/// Returns the largest resident size of this process so far, in MiB.
int64_t getPeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// Counts what is written, and keeps nothing.
class CountingStream : public llvm::raw_ostream {
public:
  ~CountingStream() override { flush(); }

private:
  void write_impl(const char *, size_t size) override { position += size; }
  uint64_t current_pos() const override { return position; }

  uint64_t position = 0;
};

TEST(TraceFileTest, LaterSpansAreLeftOutAndCounted) {
  RankTrace rank{0, "cpu"};
  runtime::Trace part = makeCpuTrace();
  part.spans.resize(RankTrace::kMostSpans - 2, part.spans.front());
  rank.add(part);
  EXPECT_EQ(describeOmission(rank), "");
  part.spans.resize(6);
  rank.add(part);
  rank.add(part);
  EXPECT_EQ(rank.trace.spans.size(), RankTrace::kMostSpans);
  EXPECT_EQ(rank.omitted, 10);
  EXPECT_EQ(describeOmission(rank), "the first 1000000 of 1000010 events");
  rank.trace.spans.resize(1);
  EXPECT_EQ(getEvents(rank, "M", {"args"})[0], R"({"name":"rank 0: cpu, the first 1 of 11 events"})");
}

TEST(TraceFileTest, AMillionSpansAreWrittenAsTheyCome) {
  constexpr int64_t kSpans = 1'000'000, kMostMiB = 150;
  RankTrace rank{0, "cpu", makeCpuTrace()};
  std::vector<runtime::TraceSpan> step = rank.trace.spans;
  rank.trace.spans.reserve(kSpans);
  while (static_cast<int64_t>(rank.trace.spans.size()) < kSpans) {
    runtime::TraceSpan span = step[rank.trace.spans.size() % step.size()];
    span.start_ns = static_cast<int64_t>(rank.trace.spans.size()) * 2000;
    rank.trace.spans.push_back(span);
  }
  int64_t before = getPeakMiB();
  CountingStream stream;
  std::vector<double> fractions;
  printTrace({rank}, stream, [&](double fraction) { fractions.push_back(fraction); });
  EXPECT_EQ(fractions.size(), 100u);
  EXPECT_TRUE(llvm::is_sorted(fractions));
  EXPECT_EQ(fractions.back(), 1);
  EXPECT_GT(stream.tell(), 100 * kSpans);
  EXPECT_LT(getPeakMiB() - before, kMostMiB);
}

TEST(TraceFileTest, AnErrorNamesTheFile) {
  absl::Status status = writeTrace({{0, "cpu", makeCpuTrace()}}, "/dev/null/trace.json");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/dev/null/trace.json"));
}

} // namespace
} // namespace cs336
