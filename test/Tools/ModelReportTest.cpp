//===- ModelReportTest.cpp - Measured models as rows ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelReport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench {
namespace {

namespace json = llvm::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = 1 << 20;

/// Returns a measurement as if a GPU had been profiled.
class FixedProfile : public RunProfile {
public:
  explicit FixedProfile(GraphWork work) : work(work) {}

  runtime::RunObserver *getObserver() override { return nullptr; }
  absl::Status start(runtime::Session &session) override { return absl::OkStatus(); }
  absl::Status stop(runtime::Session &session) override { return absl::OkStatus(); }
  std::optional<GraphWork> getGraphWork() const override { return work; }
  void print(llvm::raw_ostream &stream, size_t most) const override {}

private:
  GraphWork work;
};

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
  measurement.deviceMemoryBytes = 12 * kMiB;
  return measurement;
}

std::string print(std::vector<ModelRow> &rows, Format format) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  makeModelReport(rows, {}, /*perStep=*/false).print(format, stream);
  return text;
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
  measurement.profile = std::make_unique<FixedProfile>(GraphWork{750, 4'500'000, 300'000});
  std::string table = printOne(std::move(measurement), Format::Table);
  EXPECT_THAT(table, HasSubstr("event (ms)  kernels (ms)  launches  gap (µs/node)  idle (µs/node)"));
  EXPECT_THAT(table, HasSubstr("     2.000         1.500       250          2.000           0.400"));
  EXPECT_THAT(table, HasSubstr("memory (MiB)  device memory (MiB)  compile (s)  load (s)"));
  EXPECT_THAT(table, HasSubstr("        10.0                 12.0         0.50      0.25"));
  EXPECT_THAT(table, Not(HasSubstr("MFU")));
}

TEST(ModelReportTest, ProgramsGetEveryTimeByBothClocks) {
  Measurement measurement = measureGPU();
  measurement.profile = std::make_unique<FixedProfile>(GraphWork{750, 4'500'000, 300'000});
  json::Object result = getResult(std::move(measurement));
  EXPECT_EQ(*result.getArray("step_ms"), json::Array({5.0, 3.0, 4.0}));
  EXPECT_EQ(*result.getArray("event_step_ms"), json::Array({2.0, 1.0, 9.0}));
  EXPECT_EQ(result.getNumber("event_ms"), 2);
  EXPECT_EQ(result.getNumber("kernels_ms"), 1.5);
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
      measurement.profile = std::make_unique<FixedProfile>(GraphWork());
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

TEST(ModelReportTest, MemoryThatIsNotThePlansIsWarnedOf) {
  EXPECT_FALSE(describeMemoryMismatch(measureCPU()));
  EXPECT_FALSE(describeMemoryMismatch(measureGPU()));
  Measurement measurement = measureGPU();
  measurement.deviceMemoryBytes = measurement.memoryBytes + 64 * kMiB;
  EXPECT_FALSE(describeMemoryMismatch(measurement));
  measurement.deviceMemoryBytes = measurement.memoryBytes + 64 * kMiB + 1;
  EXPECT_THAT(describeMemoryMismatch(measurement).value_or(""), AllOf(HasSubstr("74.0 MiB"), HasSubstr("10.0 MiB")));
  measurement.memoryBytes = 128 * 64 * kMiB + 128; // Depends on the plan.
  measurement.deviceMemoryBytes = measurement.memoryBytes + 64 * kMiB + 1;
  EXPECT_FALSE(describeMemoryMismatch(measurement));
  ++*measurement.deviceMemoryBytes;
  EXPECT_TRUE(describeMemoryMismatch(measurement));
  measurement.deviceMemoryBytes = measurement.memoryBytes - 1;
  EXPECT_THAT(describeMemoryMismatch(measurement).value_or(""), HasSubstr("gave memory back"));
}

} // namespace
} // namespace cs336::bench
