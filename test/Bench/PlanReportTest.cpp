//===- PlanReportTest.cpp - Planned models as rows ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PlanReport.h"

#include "LineWidths.h"
#include "cs336/Bench/Plan/BufferTables.h"
#include "cs336/Bench/Plan/FitNote.h"
#include "cs336/Support/ByteSize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::bench::plan_report_test {

using exec::CommandPhase;
using ::testing::HasSubstr;

/// The largest of what a machine could plan.
PlanRow makeRow(llvm::StringRef size, Fusion fusion, std::string added = "") {
  ModelDescription description;
  llvm::cantFail(description.transformer.setSize(size));
  description.transformer.batchSize = 128;
  description.transformer.contextLength = 65536;
  constexpr int64_t kTebi = int64_t(1) << 40;
  PlanRow row{description, ComputeType::BF16, fusion, {}, kTebi, {}, {"", added, "bf16"}};
  ModelPlan &plan = row.plan;
  plan.parameterBytes = plan.stateBytes = plan.derivedBytes = plan.inputBytes = plan.arenaBytes = plan.hostBytes =
      kTebi;
  exec::Work work{12345, 1234, 1234, 12345678e9, 12345678e9};
  plan.phases = {{CommandPhase::Optimizer, work, work, kTebi, kTebi},
                 {CommandPhase::Forward, work, work, kTebi, kTebi}};
  for (PhaseSummary &phase : plan.phases)
    for (MemoryKind kind : getMemoryKinds())
      phase.live[kind] = kTebi;
  plan.kernels = {{std::string(150, 'k'), work, 1234}};
  plan.layers = 48;
  plan.timeline.commands = {{std::string(60, 'k'), "layers.0.ffn.w13", CommandPhase::Optimizer, work}};
  for (int64_t layer = 0; layer < 48; ++layer)
    plan.timeline.allocations.push_back({kTebi, "128x65536x25600xf32", "layers." + std::to_string(layer) + ".ffn.w13",
                                         CommandPhase::Forward, CommandPhase::Backward});
  plan.layerMemory = {"layers.24", plan.timeline.allocations, 48 * kTebi, kTebi};
  plan.timeline.allocations.push_back(
      {1 << 20, "128xi64", "layers.0.ffn.w13", CommandPhase::Forward, CommandPhase::Backward});
  return row;
}

TEST(PlanReportTest, EqualBuffersOfAllLayersAreOneRow) {
  std::vector<BufferGroup> groups = groupBuffers(makeRow("tiny", Fusion::None).plan.timeline.allocations);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].count, 48);
  EXPECT_EQ(groups[0].buffer.source, "layers.*.ffn.w13");
  EXPECT_EQ(groups[1].count, 1);
  EXPECT_EQ(groups[1].buffer.source, "layers.0.ffn.w13");
  std::vector<PlanRow> rows{makeRow("tiny", Fusion::None)};
  EXPECT_THAT(print(makePlanReport(rows, {}, {10}), Format::Table), HasSubstr("layers.*.ffn.w13 × 48"));
  // Programs get each by itself.
  llvm::json::Value document = llvm::cantFail(llvm::json::parse(print(makePlanReport(rows, {}, {100}), Format::JSON)));
  const llvm::json::Object &result = *document.getAsObject()->getArray("results")->front().getAsObject();
  EXPECT_EQ(result.getArray("largest_buffers")->size(), 49u);
  EXPECT_EQ(result.getArray("largest_buffers")->front().getAsObject()->getString("source"), "layers.0.ffn.w13");
}

TEST(PlanReportTest, BuffersThatDifferInMoreThanTheLayerStayApart) {
  std::vector<Allocation> buffers{{8, "2xf32", "layers.0.a", CommandPhase::Forward, CommandPhase::Forward},
                                  {8, "2xf32", "layers.1.b", CommandPhase::Forward, CommandPhase::Forward},
                                  {8, "2xi32", "layers.1.a", CommandPhase::Forward, CommandPhase::Forward},
                                  {8, "2xf32", "layers.1.a", CommandPhase::Forward, CommandPhase::Backward},
                                  {8, "2xf32", "layers.1.a", CommandPhase::Forward, CommandPhase::Forward}};
  EXPECT_EQ(groupBuffers(buffers).size(), 4u);
}

/// A step with two commands. 7 MiB are live during the first, 9 MiB during the second.
PlanRow makeStep() {
  constexpr int64_t kMebi = 1 << 20;
  PlanRow row = makeRow("tiny", Fusion::None);
  row.limitBytes = 0;
  ModelPlan &plan = row.plan;
  plan.timeline.commands = {{"gemm_w1", "layers.0.ffn.w1", CommandPhase::Forward},
                            {"gemm_w2", "layers.1.ffn.w2", CommandPhase::Backward}};
  auto make = [](int64_t bytes, std::string source, MemoryKind kind, std::string location, size_t first, size_t last) {
    return Allocation{bytes,    "1xf32", source, CommandPhase::Forward, CommandPhase::Backward, kind,
                      location, first,   last};
  };
  plan.timeline.residents = {make(2 * kMebi, "weight", MemoryKind::Parameter, "model.py:3:1", 0, 0)};
  plan.timeline.allocations = {make(3 * kMebi, "layers.0.a", MemoryKind::Activation, "model.py:7:1", 0, 1),
                               make(3 * kMebi, "layers.1.a", MemoryKind::Activation, "model.py:7:1", 1, 1),
                               make(2 * kMebi, "b", MemoryKind::Temporary, "model.py:8:1", 0, 0),
                               make(kMebi, "c", MemoryKind::Gradient, "model.py:9:1", 1, 1)};
  plan.parameterBytes = 2 * kMebi;
  plan.stateBytes = plan.derivedBytes = plan.inputBytes = 0;
  plan.arenaBytes = 10 * kMebi;
  plan.phases = summarizePhases(plan.timeline);
  return row;
}

TEST(PlanReportTest, BuffersAtThePeakAddUpToIt) {
  std::vector<PlanRow> rows{makeStep()};
  auto print = [&](const PlanTables &tables) {
    Report report{{}, {makePeakBufferTable(rows, tables)}, {}};
    return bench::print(report, Format::CSV);
  };
  std::string head =
      "kind,mib,type,source,together_mib,from_phase,to_phase,location,layer,count,bytes,together_bytes\n";
  std::string activations =
      "activation,3.0,1xf32,layers.*.a × 2,6.0,forward,backward,model.py:7:1,,2,3145728,6291456\n";
  std::string parameter = "parameter,2.0,1xf32,weight,2.0,,,model.py:3:1,,1,2097152,2097152\n";
  std::string gradient = "gradient,1.0,1xf32,c,1.0,forward,backward,model.py:9:1,,1,1048576,1048576\n";
  std::string all = "all,,,4 buffers,9.0,,,,,4,,9437184\n";
  EXPECT_EQ(print({10}), head + activations + parameter + gradient + all);
  EXPECT_EQ(print({1}), head + activations + "other,,,2 buffers,3.0,,,,,2,,3145728\n" + all);
  EXPECT_EQ(print({10, 2 << 20}), head + activations + parameter + "other,,,1 buffers,1.0,,,,,1,,1048576\n" + all);
  EXPECT_EQ(print({0}), head + "other,,,4 buffers,9.0,,,,,4,,9437184\n" + all);
  EXPECT_EQ(makePeakBufferTable(rows, {10}).getTitle(),
            "live at the peak of the step, in backward during gemm_w2 of layers.1.ffn.w2: 9.0 MiB of the total of "
            "12.0 MiB");
  // Programs get each buffer by itself, with its layer.
  llvm::json::Array objects = listPeakBuffers(rows.front(), {1});
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0].getAsObject()->getString("layer"), "layers.0");
  EXPECT_EQ(objects[1].getAsObject()->getInteger("together_bytes"), 6 << 20);
}

TEST(PlanReportTest, BuffersAtThePeaksOfSeveralPlansHaveTheSettings) {
  std::vector<PlanRow> rows{makeStep(), makeStep()};
  rows.back().description.transformer.contextLength = 512;
  Table table = makePeakBufferTable(rows, {1});
  EXPECT_EQ(table.getTitle(), "live at the peak of each step");
  EXPECT_EQ(table.getRows().size(), 6u);
  EXPECT_EQ(table.getHeads().front().key, "size");
  // A plan without commands has no peak.
  rows.back().plan.phases.clear();
  EXPECT_EQ(makePeakBufferTable(rows, {1}).getRows().size(), 3u);
}

TEST(PlanReportTest, SweepTablesHaveAllPlans) {
  PlanRow row = makeRow("2.7B", Fusion::None);
  row.description.transformer.batchSize = 4;
  row.description.transformer.contextLength = 256;
  std::vector<PlanRow> rows{row, row};
  rows.back().description.transformer.contextLength = 512;
  rows.back().plan.layerMemory = {}; // As of a forward pass.
  Report report = makePlanReport(rows, {}, {2, 1, /*hasSweepTables=*/true});
  ASSERT_EQ(report.tables.size(), 5u);
  EXPECT_EQ(report.tables[1].getName(), "phase-peaks");
  EXPECT_EQ(report.tables[1].getRows().size(), 4u); // Two phases of each.
  EXPECT_EQ(report.tables[2].getName(), "peak-buffers");
  EXPECT_EQ(report.tables[3].getName(), "blocks");
  EXPECT_EQ(report.tables[4].getName(), "block-buffers");
  EXPECT_EQ(report.tables[4].getRows().size(), 2u);
  std::string text = print(report, Format::Table);
  // 4·256·2560 and 4·512·2560 numbers of 4 bytes; 4·2560² + 3·2560·10240 + 2·2560 = 104862720 numbers.
  EXPECT_THAT(text, ::testing::ContainsRegex("256 +10.0 +50331648.0 +48 +1048576.0 +400.0"));
  EXPECT_THAT(text, ::testing::ContainsRegex("512 +20.0 *\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("1048576.0 +2.1% +128x65536x25600xf32 +layers.0.ffn.w13"));
}

TEST(PlanReportTest, SizesOfFlagsAreReadBack) {
  // The shortest text of the same number of bytes.
  for (const char *size : {"30.4GiB", "40GiB", "1.5GiB", "2GB", "79.65GiB", "125MB", "1.5MB", "25MiB"})
    EXPECT_EQ(formatFlagBytes(*parseBytes(size)), size);
  // Otherwise at most 0.1 % less.
  for (int64_t bytes : {int64_t{1234567}, int64_t{32641751441}, (int64_t{1} << 40) - 1, int64_t{999}}) {
    std::string text = formatFlagBytes(bytes);
    EXPECT_LE(text.size(), 11u);
    EXPECT_LE(*parseBytes(text), bytes) << text;
    EXPECT_GE(static_cast<double>(*parseBytes(text)), 0.999 * static_cast<double>(bytes)) << text;
  }
}

TEST(PlanReportTest, ALimitThatNothingMeetsNamesTheLeast) {
  PlanRow row = makeRow("tiny", Fusion::All);
  row.limitBytes = 1;
  row.waysToFit.least = WayToFit{"--batch-size 1", int64_t{30} << 20, 1e-6};
  EXPECT_THAT(describeFit(row), HasSubstr("suffices\nthe least planned total is 30.0 MiB: --batch-size 1"));
  row.waysToFit.ways = {*row.waysToFit.least};
  EXPECT_THAT(describeFit(row), ::testing::Not(HasSubstr("least planned")));
  // Several ranks are listed below the least memory of one device.
  row.waysToFit.ways = {{"--ranks 4 --distribute fsdp", int64_t{9} << 20, 1e-6, 4}};
  EXPECT_THAT(describeFit(row),
              HasSubstr("--batch-size 1\nany of these would do:\n  --ranks 4 --distribute fsdp  9.0 MiB "
                        "per rank"));
  row.waysToFit.ways.clear();
  row.waysToFit.leastSharding = WayToFit{"--ranks 8 --distribute fsdp", int64_t{7} << 20, 1e-6, 8};
  EXPECT_THAT(describeFit(row),
              HasSubstr("no sharding would: --ranks 8 --distribute fsdp, the best, needs 7.0 MiB per rank"));
}

TEST(PlanReportTest, AnUnmetBudgetNamesTheLeast) {
  PlanRow row = makeRow("tiny", Fusion::All);
  row.plan = {};
  row.status = absl::ResourceExhaustedError("memory budget 1KiB: the smallest budget that works is 30 MiB");
  row.pipeline.options = "memory-budget=1KiB";
  EXPECT_FALSE(row.fits());
  row.waysToFit.least = WayToFit{"--batch-size 1", int64_t{20} << 20, 1e-6};
  EXPECT_THAT(
      describeUnmetBudget(row),
      ::testing::EndsWith("train: memory budget 1KiB: the smallest budget that works is 30 MiB\nneither a smaller "
                          "batch, a shorter context, recomputation, fusion nor bfloat16 suffices\nthe least "
                          "planned total is 20.0 MiB: --batch-size 1"));
  row.waysToFit.ways = {*row.waysToFit.least};
  EXPECT_THAT(describeUnmetBudget(row), ::testing::EndsWith("works is 30 MiB\nwithout this memory budget, any of these "
                                                            "would do:\n  --batch-size 1  20.0 MiB"));
}

TEST(PlanReportTest, TheWidestDefaultTablesFit) {
  std::vector<PlanRow> one{makeRow("2.35B", Fusion::Elementwise)};
  std::vector<PlanRow> sweep;
  for (const char *size : {"tiny", "2.35B"})
    for (const char *added : {"none", "hoist-invariants", "fuse-elementwise"})
      sweep.push_back(makeRow(size, Fusion::Elementwise, added));
  sweep.back().description.transformer.numLayers = 100; // Without a name.
  sweep.back().description.mode = Mode::ForwardBackward;
  EXPECT_LE(getWidestLine(print(makePlanReport(sweep, {}, {10}), Format::Table)), 120);
  EXPECT_LE(getWidestLine(print(makePlanReport(one, {}, {10}), Format::Table)), 120);
}

} // namespace cs336::bench::plan_report_test
