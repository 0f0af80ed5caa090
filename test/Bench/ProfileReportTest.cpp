//===- ProfileReportTest.cpp - Where the time of runs went, as rows -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileReport.h"
#include "cs336/Bench/Profile/AttentionTimes.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::profile_report_test {

using ::testing::HasSubstr;
using ::testing::Not;

struct Kernel {
  const char *name;
  int64_t start, duration;
};

runtime::Trace traceKernels(std::vector<Kernel> kernels) {
  runtime::Trace trace;
  for (const Kernel &kernel : kernels) {
    auto name = static_cast<uint32_t>(llvm::find(trace.names, kernel.name) - trace.names.begin());
    if (name == trace.names.size())
      trace.names.push_back(kernel.name);
    trace.spans.push_back({.start_ns = kernel.start, .duration_ns = kernel.duration, .name = name});
  }
  return trace;
}

RunProfile makeProfile(const runtime::Trace &trace) {
  RunProfile profile;
  profile.add(trace);
  return profile;
}

RunProfile profileKernels(std::vector<Kernel> kernels) { return makeProfile(traceKernels(std::move(kernels))); }

std::string printProfile(const RunProfile &profile, size_t most = 100, std::vector<std::string> columns = {}) {
  Table table = makeProfileTable("profile", "all: " + describeTotal(profile), profile, ProfileKey::Kernel, most);
  if (!columns.empty())
    table.select(columns);
  return print({{}, {std::move(table)}, {}}, Format::Table);
}

TEST(ProfileReportTest, KernelsHaveTheColumnsOfNsys) {
  RunProfile profile = profileKernels({{"mul_c522", 0, 10}, {"gemm<64>", 10, 300}, {"mul_c522", 400, 90}});
  EXPECT_EQ(printProfile(profile, 100, {"all"}),
            R"(all: 0.000 ms in 3 runs, of which GEMMs take 0.0 %

Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Name
    75.0              300          1     300.0     300.0       300       300          0.0  gemm<64>
    25.0              100          2      50.0      50.0        10        90         56.6  mul_c522
)");
}

TEST(ProfileReportTest, TheTimeOutsideOfCommandsIsTheRestOfTheSteps) {
  RunProfile profile = profileKernels({{"mul_c522", 0, 2'000'000}, {"gemm<64>", 10, 7'000'000}});
  EXPECT_EQ(describeTimeOutside(profile, 10),
            "steps: 10.000 ms, 10.0 % outside of commands (inputs, outputs, and the profiler itself)");
  // Clocks of the host and of commands differ.
  EXPECT_THAT(describeTimeOutside(profile, 8.9), HasSubstr(", 0.0 % outside"));
  EXPECT_THAT(describeTimeOutside(profileKernels({}), 0), HasSubstr(", 0.0 % outside"));
}

TEST(ProfileReportTest, AFewNamesAndTheSumOfAll) {
  RunProfile profile = profileKernels({{"mul_c522", 0, 10000}, {"gemm<64>", 10, 300000}});
  std::string text = printProfile(profile, /*most=*/1);
  EXPECT_THAT(text, HasSubstr("gemm<64>"));
  EXPECT_THAT(text, Not(HasSubstr("mul_c522")));
  EXPECT_THAT(text, ::testing::StartsWith("all: 0.310 ms in 2 runs, of which GEMMs take 0.0 %\n"));
}

TEST(ProfileReportTest, KernelsOfRangesHaveTheColumnsOfNsys) {
  runtime::Trace trace;
  auto addCommand = [&](const char *source, const char *phase) {
    runtime::TracedCommand &command = trace.commands.emplace_back();
    command.source = source;
    command.phase = phase;
    command.kind = "launch";
  };
  addCommand("layers.0.ln1", "forward");
  addCommand("layers.0.attn.q_proj", "forward");
  addCommand("layers.1.ln1", "forward");
  addCommand("lm_head.weight", "optimizer");
  trace.names = {"norm_1f5c", "gemm<64>", "scale_2b", "adamw", "[CUDA memcpy Host-to-Device]"};
  auto addSpan = [&](int64_t start, int64_t duration, int32_t command, uint32_t name) {
    trace.spans.push_back({.start_ns = start, .duration_ns = duration, .name = name, .command = command});
  };
  addSpan(0, 5, runtime::TraceSpan::kNoCommand, 4);
  addSpan(10, 10, 0, 0);
  addSpan(20, 4, 0, 2); // The same range goes on.
  addSpan(30, 100, 1, 1);
  addSpan(130, 30, 2, 0);
  addSpan(200, 50, 3, 3);
  RunProfile profile = makeProfile(trace);
  Table table = makeProfileTable("profile", "", profile, ProfileKey::RangeKernel);
  table.select({"nvtx_range", "style", "nvtx_instances", "instances", "total_ns", "avg_ns", "med_ns", "min_ns",
                "max_ns", "stddev_ns", "name"});
  EXPECT_EQ(
      print({{}, {std::move(table)}, {}}, Format::Table),
      R"(NVTX Range     Style    NVTX Inst  Kern Inst  Total Time (ns)  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)  Kernel Name
:forward/qkv   PushPop          1          1              100     100.0     100.0       100       100          0.0  gemm<64>
:optimizer     PushPop          1          1               50      50.0      50.0        50        50          0.0  adamw
:forward/norm  PushPop          2          2               40      20.0      20.0        10        30         14.1  norm_1f5c
:forward/norm  PushPop          2          1                4       4.0       4.0         4         4          0.0  scale_2b
)");
  EXPECT_EQ(profile.getRows(ProfileKey::RangeKernel)[2].name, "norm: norm_1f5c");
}

TEST(ProfileReportTest, EstimatedMediansAreMarked) {
  auto appendRuns = [](size_t runs) {
    Report report;
    appendProfile(report, "profile", "", profileKernels(std::vector<Kernel>(runs, {"mul_c5", 0, 1000})), {},
                  std::nullopt);
    return report;
  };
  auto isMarked = [](const Report &report) {
    return *(*report.tables[0].getObjects().begin()).getAsObject()->getBoolean("med_is_estimated");
  };
  Report exact = appendRuns(1024), estimated = appendRuns(1025);
  EXPECT_FALSE(isMarked(exact));
  EXPECT_THAT(exact.notes, Not(::testing::Contains(HasSubstr("medians"))));
  EXPECT_TRUE(isMarked(estimated));
  EXPECT_THAT(estimated.notes, ::testing::Contains("medians are estimates, within 0.4 %, where a kernel or command of "
                                                   "the step ran more than 1024 times"));
}

TEST(ProfileReportTest, NothingRanIsATableToo) {
  EXPECT_THAT(printProfile(profileKernels({})),
              ::testing::StartsWith("all: 0.000 ms in 0 runs, of which GEMMs take 0.0 %\n\nTime (%)"));
}

TEST(ProfileReportTest, CommandsHaveTheirPhase) {
  runtime::Trace trace = traceKernels({{"gemm_w2", 0, 3000}, {"mul_c5", 3000, 1000}});
  trace.commands.resize(2);
  trace.commands[0].phase = "forward";
  trace.commands[0].kind = "gemm";
  trace.commands[1].phase = "backward";
  trace.spans[0].command = 0;
  trace.spans[1].command = 1;
  EXPECT_EQ(printProfile(makeProfile(trace)), R"(all: 0.004 ms in 2 runs, of which GEMMs take 75.0 %

Time (%)  Total Time (ns)  Instances  Avg (ns)  Min (ns)  Max (ns)  Phase     Name
    75.0             3000          1    3000.0      3000      3000  forward   gemm_w2
    25.0             1000          1    1000.0      1000      1000  backward  mul_c5
)");
}

TEST(ProfileReportTest, PagesHaveAllColumnsOfNsys) {
  runtime::Trace trace = traceKernels({{"gemm_w2", 0, 3000}, {"gemm_w2", 3000, 1000}});
  trace.commands.emplace_back().phase = "forward";
  trace.spans[0].command = trace.spans[1].command = 0;
  RunProfile profile = makeProfile(trace);
  auto write = [&](ProfileKey key) {
    return print({{}, {makeProfileTable("profile", "", profile, key)}, {}}, Format::Markdown);
  };
  EXPECT_THAT(write(ProfileKey::Kernel),
              HasSubstr("| Time (%) | Total Time (ns) | Instances | Avg (ns) | Med (ns) | Min (ns) | Max (ns) | "
                        "StdDev (ns) | Phase   | Name    |"));
  EXPECT_THAT(write(ProfileKey::RangeKernel),
              ::testing::ContainsRegex("NVTX Range +. Style +. +PID . +TID . NVTX Inst . Kern Inst . Total Time .ns. . "
                                       "Avg .ns. . Med .ns. . Min .ns. . Max .ns. . StdDev .ns. . Kernel Name"));
}

TEST(ProfileReportTest, LongNamesFit) {
  std::string name = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8, "
                     "cutlass::epilogue::thread::LinearCombination<float, 4>>";
  runtime::Trace trace = traceKernels({{name.c_str(), 0, 1234567890123}});
  EXPECT_LE(getWidestLine(printProfile(makeProfile(trace))), 120);
  trace.commands.emplace_back().phase = "communication";
  trace.spans[0].command = 0;
  EXPECT_LE(getWidestLine(printProfile(makeProfile(trace))), 120);
}

TEST(ProfileReportTest, FactsNameTheLongestKernels) {
  runtime::Trace trace = traceKernels({{"gemm<64>", 0, 3000}, {"mul_c5", 3000, 1000}, {"gemm<64>", 4000, 500}});
  trace.commands.emplace_back().kind = "gemm";
  trace.spans[0].command = trace.spans[2].command = 0;
  ProfileFacts facts = computeProfileFacts(makeProfile(trace));
  EXPECT_DOUBLE_EQ(facts.gemmShare, 3500.0 / 4500);
  EXPECT_EQ(facts.longest->name, "gemm<64>");
  EXPECT_EQ(facts.longestOutsideGemms->name, "mul_c5");
  EXPECT_DOUBLE_EQ(facts.longestOutsideGemms->share, 1000.0 / 4500);
  facts = computeProfileFacts(profileKernels({}));
  EXPECT_EQ(facts.gemmShare, 0);
  EXPECT_FALSE(facts.longest || facts.longestOutsideGemms);
}

TEST(ProfileReportTest, PhasesHaveFactsOfTheirOwn) {
  runtime::Trace trace = traceKernels({{"copy", 0, 50}, {"gemm<64>", 50, 3000}, {"mul_c5", 3050, 1000}});
  trace.commands.resize(2);
  trace.commands[0].kind = "gemm";
  trace.commands[0].phase = "forward";
  trace.commands[1].phase = "optimizer";
  trace.spans[1].command = 0;
  trace.spans[2].command = 1;
  std::vector<PhaseFacts> phases = computePhaseFacts(makeProfile(trace)); // The copy belongs to no command.
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].phase, "forward");
  EXPECT_EQ(phases[0].nanoseconds, 3000);
  EXPECT_EQ(phases[0].facts.gemmShare, 1);
  EXPECT_FALSE(phases[0].facts.longestOutsideGemms);
  EXPECT_EQ(phases[1].facts.gemmShare, 0);
  EXPECT_EQ(phases[1].facts.longest->name, "mul_c5");
  EXPECT_EQ(phases[1].facts.longest->share, 1);
}

/// The commands of unfused attention, the same once more in the backward pass, and another GEMM.
runtime::Trace traceAttention() {
  runtime::Trace trace;
  trace.names = {"kernel"};
  for (auto [phase, source, kind, duration] : {std::tuple("forward", "layers.0.attn.q_proj", "gemm", 7000),
                                               std::tuple("forward", "layers.0.attn.scores", "gemm", 300),
                                               std::tuple("forward", "layers.0.attn.scale", "launch", 40),
                                               std::tuple("forward", "layers.0.attn.mask", "launch", 20),
                                               std::tuple("forward", "layers.0.attn.softmax", "launch", 150),
                                               std::tuple("forward", "layers.0.attn.values", "gemm", 200),
                                               std::tuple("backward", "layers.0.attn.softmax", "launch", 9000)}) {
    trace.spans.push_back({.duration_ns = duration, .command = static_cast<int32_t>(trace.commands.size())});
    runtime::TracedCommand &command = trace.commands.emplace_back();
    command.phase = phase;
    command.source = source;
    command.kind = kind;
  }
  return trace;
}

TEST(AttentionTimesTest, PartsOfTheForwardPass) {
  AttentionTimes times = computeAttentionTimes(makeProfile(traceAttention()));
  EXPECT_EQ(times.scores, 340);
  EXPECT_EQ(times.mask, 20);
  EXPECT_EQ(times.softmax, 150);
  EXPECT_EQ(times.values, 200);
  EXPECT_EQ(times.fused, 0);
  EXPECT_EQ(times.getTotal(), 710);
  EXPECT_EQ(times.getSoftmaxOverMatmuls(), 0.3); // 150 of 300 + 200: without the scale.
  EXPECT_DOUBLE_EQ(getSoftmaxFlopsOverMatmuls(64), 5.0 / 256);
}

TEST(AttentionTimesTest, OneKernelHasNoRatio) {
  runtime::Trace trace = traceAttention();
  for (runtime::TracedCommand &command : trace.commands) {
    command.kind = "launch";
    command.name = "attention_12ab";
  }
  AttentionTimes times = computeAttentionTimes(makeProfile(trace));
  EXPECT_EQ(times.fused, 7710);
  EXPECT_EQ(times.getTotal(), 7710);
  EXPECT_EQ(times.getSoftmaxOverMatmuls(), std::nullopt);
}

TEST(ProfileReportTest, OneTablePerKeyAndNotesBelow) {
  Report report;
  appendProfile(report, "profile", "all: ", profileKernels({{"mul_c5", 0, 1000}}),
                {{ProfileKey::Kernel, ProfileKey::Range}}, std::nullopt);
  ASSERT_EQ(report.tables.size(), 2u);
  EXPECT_EQ(report.tables[0].getName(), "profile-kernel");
  EXPECT_EQ(report.tables[1].getName(), "profile-range");
  EXPECT_EQ(report.tables[1].getTitle(), "");
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{"most time: 100.0 % in mul_c5", "most time outside GEMMs: 100.0 % in mul_c5"}));
}

//===----------------------------------------------------------------------===//
// Rooflines
//===----------------------------------------------------------------------===//

/// Two commands: a GEMM of two kernels, and a copy.
runtime::Trace makeTwoCommands() {
  runtime::Trace trace;
  trace.commands.resize(2);
  trace.commands[0].name = "gemm_w2";
  trace.commands[0].phase = "forward";
  trace.commands[0].arithmetic = "bf16";
  trace.commands[0].flops = 4e6;
  trace.commands[0].bytes = 1e3;
  trace.commands[1].name = "cast_7f3a";
  trace.commands[1].phase = "forward";
  trace.commands[1].bytes = 2e6;
  trace.names = {"kernel"};
  // Two runs of each, which take 10 + 2 and 5 microseconds.
  for (int64_t run : {0, 1})
    for (auto [command, node, duration] : {std::tuple(0, 1, 10000), std::tuple(0, 2, 2000), std::tuple(1, 3, 5000)})
      trace.spans.push_back({.start_ns = run * 20000,
                             .duration_ns = duration,
                             .command = command,
                             .graph_node = static_cast<uint64_t>(node)});
  return trace;
}

TEST(RooflineTest, RatesCountTheWorkOfACommandOncePerRun) {
  Ceilings ceilings{/*bytesPerSecond=*/1e12, {{"bf16", 8e11}}};
  std::vector<RooflineRow> rows = computeRoofline(makeProfile(makeTwoCommands()), ceilings);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].command, "gemm_w2"); // 24 - 10 microseconds are lost, and 10 - 4.
  EXPECT_EQ(rows[0].runs, 2);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 24e-6);
  EXPECT_DOUBLE_EQ(rows[0].flops, 8e6);
  EXPECT_DOUBLE_EQ(rows[0].leastSeconds, 10e-6);
  EXPECT_TRUE(rows[0].isBoundByArithmetic);
  EXPECT_EQ(rows[1].command, "cast_7f3a");
  EXPECT_DOUBLE_EQ(rows[1].seconds, 10e-6);
  EXPECT_DOUBLE_EQ(rows[1].leastSeconds, 4e-6);
  EXPECT_FALSE(rows[1].isBoundByArithmetic);
}

TEST(RooflineTest, TheTableShowsRatesAndSharesOfTheBound) {
  Ceilings ceilings{/*bytesPerSecond=*/1e12, {{"bf16", 8e11}}};
  std::string text =
      print({{}, {makeRooflineTable("roofline", makeProfile(makeTwoCommands()), ceilings, 10)}, {}}, Format::Table);
  EXPECT_THAT(text, HasSubstr("a large copy (1000 GB/s) and of large GEMMs (bf16 0.8 TFLOP/s)"));
  EXPECT_THAT(text, ::testing::ContainsRegex("0.014 +0.024 +2 +0.1 +0.333 +bf16 +41.7 +forward +gemm_w2"));
  EXPECT_THAT(text, ::testing::ContainsRegex("0.006 +0.010 +2 +400.0 +0.000 +memory +40.0 +forward +cast_7f3a"));
}

} // namespace cs336::bench::profile_report_test
