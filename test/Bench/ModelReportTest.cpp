//===- ModelReportTest.cpp - Measured models as rows ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelReport.h"

#include "LineWidths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace cs336::bench::model_report_test {

namespace json = llvm::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = 1 << 20;

/// As if a GPU had been profiled.
RunProfile makeProfile(GraphWork work) {
  RunProfile profile;
  profile.graphWork = work;
  return profile;
}

ModelRow makeRow(Measurement measurement) {
  ModelDescription description;
  llvm::cantFail(description.transformer.setSize("tiny"));
  return {description,    ComputeType::FP32, Fusion::None, /*peakRate=*/std::nullopt, std::move(measurement),
          /*pipeline=*/{}};
}

/// Returns three steps on the CPU.
Measurement measureCPU() {
  Measurement measurement;
  measurement.stepMilliseconds = {5, 3, 4};
  measurement.compileSeconds = 0.5;
  measurement.loadSeconds = 0.25;
  measurement.numKernels = 7;
  measurement.memoryBytes = 10 * kMiB;
  return measurement;
}

Measurement measureGPU() {
  Measurement measurement = measureCPU();
  measurement.deviceMilliseconds = {2, 1, 9};
  measurement.deviceMemory = {.allocated = 10 * kMiB, .used = 12 * kMiB};
  return measurement;
}

std::string print(const std::vector<ModelRow> &rows, Format format) {
  return print(makeModelReport(rows, {}, /*perStep=*/false), format);
}

std::string printOne(Measurement measurement, Format format) {
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(std::move(measurement)));
  return print(rows, format);
}

json::Object getResult(Measurement measurement) {
  json::Value document = llvm::cantFail(json::parse(printOne(std::move(measurement), Format::JSON)));
  return *document.getAsObject()->getArray("results")->front().getAsObject();
}

TEST(ModelReportTest, TimesOfAGPUStandBesideThoseOfTheHost) {
  Measurement measurement = measureGPU();
  // Three steps of 250 nodes that take 1.5 ms.
  measurement.profile = makeProfile({750, 4'500'000, 300'000, 4'800'000});
  measurement.profiledMilliseconds = {1.5, 1.5, 2.0};
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(std::move(measurement)));
  Report report = makeModelReport(rows, {}, /*perStep=*/false);
  std::string table = print(report, Format::Table);
  EXPECT_THAT(table, HasSubstr("event (ms)  kernels (ms)  range (ms)  launches  gap (µs/node)  idle (µs/node)"));
  EXPECT_THAT(table, HasSubstr("     2.000         1.500       1.600       250          2.000           0.400"));
  report.tables.front().select({"all"});
  EXPECT_THAT(print(report, Format::Table), HasSubstr("context and others (MiB)  compile (s)  load (s)"));
  EXPECT_THAT(print(report, Format::Table), HasSubstr("0.0         0.50      0.25"));
  EXPECT_THAT(table, Not(HasSubstr("MFU")));
}

TEST(ModelReportTest, ProgramsGetEveryTimeByBothClocks) {
  Measurement measurement = measureGPU();
  measurement.profile = makeProfile({750, 4'500'000, 300'000, 4'800'000});
  measurement.profiledMilliseconds = {1.5, 1.5, 2.0};
  json::Object result = getResult(std::move(measurement));
  EXPECT_EQ(*result.getArray("step_ms"), json::Array({5.0, 3.0, 4.0}));
  EXPECT_EQ(*result.getArray("event_step_ms"), json::Array({2.0, 1.0, 9.0}));
  EXPECT_EQ(result.getNumber("event_ms"), 2);
  EXPECT_EQ(result.getNumber("kernels_ms"), 1.5);
  EXPECT_NEAR(*result.getNumber("range_ms"), 1.6, 1e-9);
  EXPECT_NEAR(*result.getNumber("profiled_event_ms"), 5.0 / 3, 1e-9);
  EXPECT_NEAR(*result.getNumber("range_over_event"), 0.96, 1e-9);
  EXPECT_EQ(result.getNumber("launches"), 250);
  EXPECT_EQ(result.getNumber("gap_us_per_node"), 2);
  EXPECT_EQ(result.getNumber("idle_us_per_node"), 0.4);
  EXPECT_EQ(result.getNumber("device_memory_mib"), 12);
  EXPECT_EQ(result.getNumber("load_seconds"), 0.25);
  EXPECT_EQ(result.getInteger("distinct_kernels"), 7);
}

TEST(ModelReportTest, KernelsNeedAProfile) {
  for (bool ranNothing : {false, true}) {
    Measurement measurement = measureGPU();
    if (ranNothing)
      measurement.profile = makeProfile({});
    json::Object result = getResult(std::move(measurement));
    EXPECT_EQ(result.getNumber("event_ms"), 2);
    for (const char *key : {"kernels_ms", "launches", "gap_us_per_node", "idle_us_per_node"})
      EXPECT_EQ(*result.get(key), nullptr) << key;
  }
}

TEST(ModelReportTest, TheCPUHasNoColumnsOfGPUs) {
  EXPECT_THAT(printOne(measureCPU(), Format::Table), Not(HasSubstr("event")));
  json::Object result = getResult(measureCPU());
  for (const char *key : {"event_ms", "event_step_ms", "kernels_ms", "launches", "gap_us_per_node", "idle_us_per_node",
                          "device_memory_mib"})
    EXPECT_EQ(*result.get(key), nullptr) << key;
}

TEST(ModelReportTest, WhatDidNotFitHasNoTimes) {
  Measurement measurement;
  measurement.status = absl::ResourceExhaustedError("too large");
  measurement.compileSeconds = 0.5;
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(std::move(measurement)));
  rows.push_back(makeRow(measureGPU()));
  EXPECT_THAT(print(rows, Format::Table), HasSubstr("OOM"));
  json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
  const json::Object &result = *document.getAsObject()->getArray("results")->front().getAsObject();
  EXPECT_EQ(result.getNumber("compile_seconds"), 0.5);
  for (const char *key : {"mean_ms", "event_ms", "mfu", "memory_mib", "load_seconds", "step_ms", "event_step_ms"})
    EXPECT_EQ(*result.get(key), nullptr) << key;
  EXPECT_EQ(result.getString("status"), "too large");
}

/// Times as long as they get, beside every variant of PyTorch.
Measurement measureMuch() {
  Measurement measurement = measureGPU();
  measurement.warmup = 100;
  measurement.stepMilliseconds = {123456.789, 123456.790, 123456.791};
  measurement.deviceMilliseconds = measurement.stepMilliseconds;
  measurement.memoryBytes = int64_t(140) << 30;
  measurement.deviceMemory = {.used = measurement.memoryBytes};
  measurement.profile = makeProfile({123456789, 4'500'000'000'000, 3'000'000'000'000});
  measurement.values = StepValues{10.5, 1.25};
  for (const char *variant : {"eager", "primitive", "sdpa", "compile", "graphs", "graphs-cudnn", "graphs-bf16w"}) {
    PeerMeasurement &peer = measurement.peers.emplace_back();
    peer.variant = variant;
    peer.values = StepValues{10.5, 1.25};
    peer.stepMilliseconds = {123456.789, 123456.789, 123456.789};
    peer.firstStepSeconds = 123.45;
    peer.deviceMiB = 143360;
  }
  return measurement;
}

TEST(ModelReportTest, TheWidestDefaultTableFits) {
  std::vector<ModelRow> rows;
  for (const char *size : {"medium", "2.35B"})
    for (ComputeType type : {ComputeType::FP32, ComputeType::BF16})
      for (Mode mode : {Mode::Forward, Mode::ForwardBackward})
        for (const char *added : {"none", "hoist-invariants", "fuse-elementwise"}) {
          ModelRow row = makeRow(measureMuch());
          llvm::cantFail(row.description.transformer.setSize(size));
          row.description.mode = mode;
          row.computeType = type;
          row.peakRate = 9e14;
          row.pipeline = {"", added, "bf16"};
          rows.push_back(std::move(row));
        }
  rows.back().description.transformer.contextLength = 65536;
  rows.back().description.transformer.numLayers = 100; // Without a name.
  EXPECT_LE(getWidestLine(print(rows, Format::Table)), 120);
  // Each variant keeps its ratio.
  for (const char *title : {"eager ratio", "primitive ratio", "graphs-bf16w ratio"})
    EXPECT_THAT(print(rows, Format::Table), HasSubstr(title));
}

TEST(ModelReportTest, AUtilizationAboveOneIsNotPrinted) {
  ModelRow row = makeRow(measureCPU());
  double rate = getFlopsPerSecond(row);
  auto getMFU = [&](double peakRate) {
    row.peakRate = peakRate;
    json::Value document = llvm::cantFail(json::parse(print({row}, Format::JSON)));
    return *document.getAsObject()->getArray("results")->front().getAsObject()->get("mfu");
  };
  EXPECT_EQ(getMFU(rate), json::Value(1.0));
  EXPECT_EQ(getMFU(4 * rate), json::Value(0.25));
  EXPECT_EQ(getMFU(0.99 * rate), json::Value(nullptr));
  EXPECT_THAT(print({row}, Format::Markdown), HasSubstr("above 1: faster than the GEMM to which MFU refers"));
}

TEST(ModelReportTest, NoiseHidesWhatItMakesAmbiguous) {
  std::vector<ModelRow> rows;
  for (Fusion fusion : {Fusion::None, Fusion::All})
    for (Mode mode : {Mode::Forward, Mode::ForwardBackward}) {
      rows.push_back(makeRow(measureCPU()));
      rows.back().fusion = fusion;
      rows.back().description.mode = mode;
      bool isLong = fusion == Fusion::None || mode == Mode::ForwardBackward;
      rows.back().measurement.stepMilliseconds = isLong ? std::vector{40.0, 41.0, 42.0} : std::vector{20.0, 20.1, 20.2};
    }
  auto getResults = [&] {
    json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
    return *document.getAsObject()->getArray("results");
  };
  json::Array results = getResults();
  const json::Object &fused = *results[2].getAsObject(), &noFaster = *results[1].getAsObject();
  EXPECT_NEAR(*fused.getNumber("fusion_speedup"), 41 / 20.1, 1e-9);
  EXPECT_EQ(fused.getArray("fusion_speedup_interval")->size(), 2u);
  // As long as its forward pass: the difference is noise, whatever it is.
  EXPECT_EQ(*noFaster.get("backward_over_forward"), nullptr);
  EXPECT_THAT(print(rows, Format::Table), HasSubstr("noisy"));

  rows[2].measurement.stepMilliseconds = {20, 20.1, 90, 100, 21};
  results = getResults();
  EXPECT_EQ(*results[2].getAsObject()->get("fusion_speedup"), nullptr);
}

TEST(ModelReportTest, RecomputationIsASetting) {
  std::vector<ModelRow> rows;
  for (const char *options : {"", "checkpoint=2", "memory-budget=30GiB", "checkpoint=1 dtype=bf16 checkpoint=0"}) {
    rows.push_back(makeRow(measureCPU()));
    rows.back().pipeline.options = options;
  }
  json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
  const json::Array &results = *document.getAsObject()->getArray("results");
  for (auto [result, layers] : llvm::zip_equal(results, std::array{0, 2, 0, 0}))
    EXPECT_EQ(result.getAsObject()->getInteger("checkpoint"), layers);
  EXPECT_EQ(*results[1].getAsObject()->get("memory_budget"), nullptr);
  EXPECT_EQ(results[2].getAsObject()->getString("memory_budget"), "30GiB");
  for (const json::Value &value : *document.getAsObject()->getArray("columns"))
    if (llvm::StringRef key = *value.getAsObject()->getString("key"); key == "checkpoint" || key == "memory_budget") {
      EXPECT_EQ(value.getAsObject()->getString("role"), "setting");
    }
  EXPECT_EQ(describeModel(rows[1]), "tiny, batch 4, context 256, fp32, unfused, checkpoint 2, train");
  EXPECT_EQ(describeModel(rows[2]), "tiny, batch 4, context 256, fp32, unfused, memory budget 30GiB, train");
}

TEST(ModelReportTest, SpeedUpsCompareStepsWithTheSameRecomputation) {
  std::vector<ModelRow> rows;
  for (auto [options, type, milliseconds] :
       {std::tuple("checkpoint=0", ComputeType::FP32, 8.0), std::tuple("checkpoint=1", ComputeType::FP32, 12.0),
        std::tuple("checkpoint=0", ComputeType::BF16, 4.0), std::tuple("checkpoint=1", ComputeType::BF16, 4.0)}) {
    Measurement measurement = measureCPU();
    measurement.stepMilliseconds = {milliseconds, milliseconds, milliseconds};
    rows.push_back(makeRow(std::move(measurement)));
    rows.back().pipeline.options = options;
    rows.back().computeType = type;
  }
  json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
  const json::Array &results = *document.getAsObject()->getArray("results");
  EXPECT_EQ(results[2].getAsObject()->getNumber("dtype_speedup"), 2);
  EXPECT_EQ(results[3].getAsObject()->getNumber("dtype_speedup"), 3);
}

TEST(ModelReportTest, PredictionsStandBesideRecomputations) {
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(measureCPU()));
  rows.front().measurement.prediction = {"h200", 1.5e-3, 12 * kMiB};
  rows.front().measurement.status = absl::ResourceExhaustedError("too large");
  json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
  const json::Object &result = *(*document.getAsObject()->getArray("results"))[0].getAsObject();
  EXPECT_EQ(result.getString("predicted_on"), "h200");
  EXPECT_EQ(result.getNumber("predicted_ms"), 1.5);
  EXPECT_EQ(result.getNumber("planned_mib"), 12);
  EXPECT_THAT(print(rows, Format::Table), Not(HasSubstr("predicted (ms)")));
  rows.front().pipeline.options = "checkpoint=1";
  EXPECT_THAT(print(rows, Format::Table), HasSubstr("predicted (ms)  planned (MiB)"));
}

TEST(ModelReportTest, EveryProfileHasATable) {
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(measureMuch()));
  EXPECT_EQ(makeModelReport(rows, {}, false).tables.back().getName(), "profile");
  rows.push_back(makeRow(measureCPU()));
  rows.push_back(makeRow(measureMuch()));
  Report report = makeModelReport(rows, {}, false);
  ASSERT_EQ(report.tables.size(), 3u);
  EXPECT_EQ(report.tables[1].getName(), "profile-1");
  EXPECT_EQ(report.tables[2].getName(), "profile-3");
}

/// Two steps with a GEMM and a softmax in attention's forward pass, and an update.
runtime::Trace traceAttention() {
  runtime::Trace trace;
  trace.names = {"gemm_scores", "softmax_12ab", "adamw_12ab"};
  trace.commands.resize(3);
  for (auto [index, source] : llvm::enumerate(std::array{"layers.0.attn.scores", "layers.0.attn.softmax", ""})) {
    trace.commands[index].source = source;
    trace.commands[index].phase = index == 2 ? "optimizer" : "forward";
    trace.commands[index].kind = index == 0 ? "gemm" : "launch";
  }
  for (int32_t index : {0, 1, 2, 0, 1, 2})
    trace.spans.push_back(
        {.duration_ns = (index + 1) * 1'000'000, .name = static_cast<uint32_t>(index), .command = index});
  return trace;
}

Measurement measureAttention(const runtime::Trace &trace = traceAttention()) {
  Measurement measurement = measureCPU();
  measurement.profiledMilliseconds = {4, 4};
  measurement.profile.emplace().add(trace);
  return measurement;
}

TEST(ModelReportTest, ProfilesStandSideBySide) {
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(measureAttention()));
  rows.push_back(makeRow(measureCPU()));
  Report report = makeModelReport(rows, {}, false);
  ASSERT_EQ(report.tables.size(), 4u);
  EXPECT_EQ(report.tables[1].getName(), "phases");
  ASSERT_EQ(report.tables[1].getRows().size(), 2u);
  EXPECT_EQ(report.tables[2].getName(), "attention");
  ASSERT_EQ(report.tables[2].getRows().size(), 1u);
  std::string table = print(report, Format::Table);
  EXPECT_THAT(table, ::testing::ContainsRegex("forward +3.000 +33.3 +66.7 +softmax_12ab +66.7 +softmax_12ab"));
  EXPECT_THAT(table, ::testing::ContainsRegex("optimizer +3.000 +0.0 +100.0 +adamw_12ab +100.0 +adamw_12ab"));
  EXPECT_THAT(table, ::testing::ContainsRegex("1.000 +2.000 +3.000 +2.000 +0.0391"));
  // Without --profile-by there are no tables of profiles.
  EXPECT_EQ(makeModelReport(rows, {}, false, {.keys = {}}).tables.size(), 1u);

  json::Object result = getResult(measureAttention());
  EXPECT_EQ(result.getNumber("kernels_ms"), 6);
  EXPECT_EQ(result.getNumber("softmax_ms"), 2);
  EXPECT_EQ(result.getNumber("softmax_over_matmuls"), 2);
  EXPECT_EQ(*result.get("values_ms"), nullptr);
}

TEST(ModelReportTest, JSONHasProfilesByEveryKey) {
  json::Object result = getResult(measureAttention());
  const json::Array &phases = *result.getArray("profile_phases");
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].getAsObject()->getNumber("kernels_ms"), 3);
  EXPECT_EQ(phases[0].getAsObject()->getInteger("total_ns"), 6'000'000);
  EXPECT_EQ(phases[1].getAsObject()->getString("phase"), "optimizer");
  EXPECT_EQ(phases[1].getAsObject()->getInteger("instances"), 2);
  auto getNames = [&](const char *key, const char *member) {
    std::vector<std::string> names;
    for (const json::Value &row : *result.getArray(key))
      names.push_back(row.getAsObject()->getString(member)->str());
    return names;
  };
  using ::testing::UnorderedElementsAre;
  EXPECT_THAT(getNames("profile", "name"), UnorderedElementsAre("gemm_scores", "softmax_12ab", "adamw_12ab"));
  EXPECT_THAT(getNames("profile_ranges", "name"), UnorderedElementsAre("scores", "softmax", "optimizer"));
  EXPECT_THAT(getNames("profile_layers", "name"), UnorderedElementsAre("layers.0", "optimizer"));
  EXPECT_THAT(getNames("profile_operations", "name"),
              UnorderedElementsAre("layers.*.attn.scores", "layers.*.attn.softmax", ""));
  EXPECT_THAT(getNames("profile_range_kernels", "nvtx_range"),
              UnorderedElementsAre(":forward/scores", ":forward/softmax", ":optimizer"));
  EXPECT_EQ(result.getArray("profile_kinds")->size(), 3u);
  EXPECT_EQ(result.getArray("profile_commands")->size(), 2u); // Two phases: these commands have no names.
  EXPECT_EQ(*result.get("profile_roofline"), nullptr);
  EXPECT_EQ(*result.get("profile_ceilings"), nullptr);
}

TEST(ModelReportTest, JSONHasTheRooflineWithItsCeilings) {
  std::vector<ModelRow> rows;
  runtime::Trace trace = traceAttention();
  runtime::TracedCommand &gemm = trace.commands.front();
  gemm.name = "gemm_scores";
  gemm.arithmetic = "bf16";
  gemm.flops = 1e9;
  gemm.bytes = 1e6;
  rows.push_back(makeRow(measureAttention(trace)));
  rows.front().ceilings = Ceilings{.bytesPerSecond = 4e12, .flopsPerSecond = {{"bf16", 8e14}}};
  json::Value document = llvm::cantFail(json::parse(print(rows, Format::JSON)));
  const json::Object &result = *(*document.getAsObject()->getArray("results"))[0].getAsObject();
  ASSERT_EQ(result.getArray("profile_roofline")->size(), 1u);
  const json::Object &row = *(*result.getArray("profile_roofline"))[0].getAsObject();
  EXPECT_EQ(row.getString("command"), "gemm_scores");
  EXPECT_NEAR(*row.getNumber("tflops"), 1, 1e-9);
  EXPECT_NEAR(*row.getNumber("gb_s"), 1, 1e-9);
  const json::Object &ceilings = *result.getObject("profile_ceilings");
  EXPECT_EQ(ceilings.getNumber("memory_gb_s"), 4000);
  const json::Object &rate = *(*ceilings.getArray("gemms"))[0].getAsObject();
  EXPECT_EQ(rate.getString("arithmetic"), "bf16");
  EXPECT_EQ(rate.getNumber("tflops"), 800);
}

TEST(ModelReportTest, ClocksOfProfiledStepsAreCompared) {
  Measurement measurement = measureGPU();
  measurement.profile = makeProfile({750, 4'500'000, 300'000, 4'800'000});
  EXPECT_THAT(printOne(measurement, Format::Table), Not(HasSubstr("of a profiled step")));
  measurement.profiledMilliseconds = {1.5, 1.5, 2.0};
  EXPECT_THAT(printOne(std::move(measurement), Format::Table),
              HasSubstr("kernels and the gaps between them take 1.600 ms of the 1.667 ms of a profiled step by events "
                        "(96.0 %)"));
}

/// Returns the note on the overhead of profiling in one line.
std::string describeOverhead(std::vector<double> profiled, std::vector<double> unprofiled) {
  Measurement measurement = measureGPU();
  measurement.profile = makeProfile({750, 4'500'000, 300'000, 4'800'000});
  measurement.profiledMilliseconds = std::move(profiled);
  measurement.deviceMilliseconds = std::move(unprofiled);
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(std::move(measurement)));
  return makeModelReport(rows, {}, /*perStep=*/false).notes.back();
}

TEST(ModelReportTest, OverheadIsRelativeToTheStepsOfTheRow) {
  EXPECT_EQ(describeOverhead({1.5, 1.5, 1.6}, {1.2, 1.2, 1.3}),
            "overhead of profiling: 25.0 % of a step, from 20.0 % to 29.2 % by the quartiles; 1.500 ms with the "
            "profiler, 1.200 ms without it, in a session before it (medians)");
  Measurement measurement = measureGPU();
  measurement.profile = makeProfile({750, 4'500'000, 300'000, 4'800'000});
  measurement.profiledMilliseconds = {1.5, 1.5, 1.6};
  measurement.deviceMilliseconds = {1.2, 1.2, 1.3};
  EXPECT_NEAR(*getResult(std::move(measurement)).getNumber("profiled_over_step"), 1.25, 1e-9);
  measurement = measureCPU();
  measurement.profile = makeProfile({});
  measurement.profiledMilliseconds = {6, 6, 6};
  EXPECT_NEAR(*getResult(std::move(measurement)).getNumber("profiled_over_step"), 1.5, 1e-9);
}

TEST(ModelReportTest, OverheadBelowTheNoiseIsCalledThat) {
  EXPECT_THAT(describeOverhead({1.1, 0.9, 1.3}, {1.2, 1.0, 1.4}),
              HasSubstr("overhead of profiling: within the noise, from -23.1 % to 9.1 % of a step by the quartiles; "));
  EXPECT_THAT(describeOverhead({1.1, 1.2}, {1.2, 1.2}),
              HasSubstr("overhead of profiling: -4.2 % of a step, and fewer than 3 steps do not show the noise; "));
  // A profiler that shortens steps is another surprise than noise.
  EXPECT_THAT(describeOverhead({0.9, 0.9, 0.9}, {1.0, 1.0, 1.0}),
              HasSubstr("overhead of profiling: -10.0 % of a step, from -10.0 % to -10.0 % by the quartiles; "));
}

TEST(ModelReportTest, MemoryBeyondThePlanHasParts) {
  std::vector<ModelRow> rows;
  rows.push_back(makeRow(measureCPU()));
  EXPECT_EQ(makeModelReport(rows, {}, false, {}, /*hasMemoryTable=*/true).tables.size(), 1u);
  Measurement measurement = measureGPU();
  measurement.deviceMemory = {.allocated = 10 * kMiB,
                              .used = 12 * kMiB,
                              .before = 500 * kMiB,
                              .kernels = kMiB,
                              .libraries = kMiB / 4,
                              .graphs = kMiB / 8,
                              .rounding = kMiB / 16};
  rows.push_back(makeRow(std::move(measurement)));
  Report report = makeModelReport(rows, {}, false, {}, /*hasMemoryTable=*/true);
  ASSERT_EQ(report.tables.size(), 2u);
  EXPECT_EQ(report.tables[1].getName(), "memory");
  ASSERT_EQ(report.tables[1].getRows().size(), 1u); // The CPU has no count of its own.
  json::Value document = llvm::cantFail(json::parse(print(report, Format::JSON)));
  const json::Object &row = *(*document.getAsObject()->getArray("results"))[1].getAsObject();
  EXPECT_EQ(row.getNumber("unplanned_mib"), 2);
  EXPECT_NEAR(*row.getNumber("unplanned_percent"), 20, 1e-9);
  double parts = 0;
  for (const char *key : {"modules_mib", "libraries_mib", "graphs_mib", "rounding_mib", "later_mib"})
    parts += *row.getNumber(key);
  EXPECT_EQ(parts, 2);
  EXPECT_EQ(row.getNumber("later_mib"), 0.5625);
  EXPECT_EQ(row.getNumber("before_mib"), 500);
}

TEST(ModelReportTest, MemoryThatIsNotThePlansIsWarnedOf) {
  EXPECT_FALSE(describeMemoryMismatch(measureCPU()));
  EXPECT_FALSE(describeMemoryMismatch(measureGPU()));
  Measurement measurement = measureGPU();
  measurement.deviceMemory = {.used = measurement.memoryBytes + 64 * kMiB};
  EXPECT_FALSE(describeMemoryMismatch(measurement));
  measurement.deviceMemory = {.used = measurement.memoryBytes + 64 * kMiB + 1};
  EXPECT_THAT(describeMemoryMismatch(measurement).value_or(""), AllOf(HasSubstr("74.0 MiB"), HasSubstr("10.0 MiB")));
  measurement.memoryBytes = 128 * 64 * kMiB + 128; // Depends on the plan.
  measurement.deviceMemory = {.used = measurement.memoryBytes + 64 * kMiB + 1};
  EXPECT_FALSE(describeMemoryMismatch(measurement));
  ++measurement.deviceMemory->used;
  EXPECT_TRUE(describeMemoryMismatch(measurement));
  measurement.deviceMemory = {.used = measurement.memoryBytes - 1};
  EXPECT_THAT(describeMemoryMismatch(measurement).value_or(""), HasSubstr("freed memory"));
}

} // namespace cs336::bench::model_report_test
