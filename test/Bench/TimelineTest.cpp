//===- TimelineTest.cpp - Memory over time --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/MemorySnapshot.h"
#include "cs336/Bench/Timeline/TimelineSummary.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Target/Executable/EmitExecutable.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cs336::bench::timeline_test {

using exec::CommandPhase;

TimedCommand makeCommand(CommandPhase phase, std::string source, double start, double end) {
  return {"kernel", std::move(source), phase, {1, 0, 0, 10, 20}, start, end};
}

Allocation makeAllocation(int64_t bytes, MemoryKind kind, size_t first, size_t last,
                          std::string source = "layers.0.a") {
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.first = first;
  allocation.last = last;
  allocation.source = std::move(source);
  return allocation;
}

MemoryTimeline makeTimeline() {
  MemoryTimeline timeline;
  timeline.commands = {
      makeCommand(CommandPhase::Forward, "layers.0.a", 0, 1), makeCommand(CommandPhase::Forward, "layers.1.a", 1, 3),
      makeCommand(CommandPhase::Backward, "layers.1.a", 3, 7), makeCommand(CommandPhase::Backward, "layers.0.a", 7, 9)};
  timeline.allocations = {
      makeAllocation(100, MemoryKind::Activation, 0, 3), makeAllocation(50, MemoryKind::Activation, 1, 2, "layers.1.a"),
      makeAllocation(30, MemoryKind::Workspace, 1, 1, "layers.1.a"),
      makeAllocation(20, MemoryKind::Gradient, 2, 3, "layers.1.a"), makeAllocation(5, MemoryKind::Temporary, 3, 3)};
  timeline.arenaBytes = 180;
  return timeline;
}

TEST(DeviceModelTest, TheLongestPartBoundsACommand) {
  EXPECT_EQ((PredictedTime{3e-6, 2e-6, 1e-6}).getBound(), Bound::Memory);
  EXPECT_EQ((PredictedTime{2e-6, 3e-6, 1e-6}).getBound(), Bound::Compute);
  EXPECT_EQ((PredictedTime{2e-6, 3e-6, 4e-6}).getBound(), Bound::Launch);
  EXPECT_DOUBLE_EQ((PredictedTime{2e-6, 3e-6, 4e-6}).getTotal(), 7e-6);
  // 4.24 MB at 4.24 TB/s.
  const DeviceModel &h200 = *findDeviceModel("h200");
  PredictedTime time = predictTime(h200, {1, 0, 0, 0, 4.24e6}, {});
  EXPECT_DOUBLE_EQ(time.memory, 1e-6);
  EXPECT_DOUBLE_EQ(time.getTotal(), 3e-6);
  EXPECT_DOUBLE_EQ(predictTime(h200, {}, {}).getTotal(), 0);
}

TEST(TimelineTest, LiveBytesAreThoseOfEachCommand) {
  std::vector<int64_t> totals, activations;
  makeTimeline().forEachCommand([&](size_t, const KindBytes &live) {
    totals.push_back(live.getTotal());
    activations.push_back(live[MemoryKind::Activation]);
  });
  EXPECT_THAT(totals, ::testing::ElementsAre(100, 180, 170, 125));
  EXPECT_THAT(activations, ::testing::ElementsAre(100, 150, 150, 100));
}

TEST(TimelineTest, PhasesHaveTheirPeaksByKind) {
  std::vector<PhaseSummary> phases = summarizePhases(makeTimeline());
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].liveBytes, 180);
  EXPECT_EQ(phases[0].heldBytes, 0);
  EXPECT_EQ(phases[0].peak, 1u);
  EXPECT_EQ(phases[0].live[MemoryKind::Workspace], 30);
  EXPECT_DOUBLE_EQ(phases[0].seconds, 3);
  EXPECT_EQ(phases[1].liveBytes, 170);
  EXPECT_EQ(phases[1].heldBytes, 150);
  EXPECT_EQ(phases[1].live[MemoryKind::Workspace], 0);
  EXPECT_DOUBLE_EQ(phases[1].seconds, 6);
}

TEST(TimelineTest, TheLargestPeakAndWhatIsLiveThere) {
  MemoryTimeline timeline = makeTimeline();
  timeline.residents = {makeAllocation(40, MemoryKind::Parameter, 0, 0, "weight")};
  std::vector<PhaseSummary> phases = summarizePhases(timeline);
  const PhaseSummary *phase = findPeakPhase(phases);
  ASSERT_NE(phase, nullptr);
  EXPECT_EQ(phase->phase, CommandPhase::Forward);
  std::vector<int64_t> bytes;
  for (const Allocation &live : listLive(timeline, phase->peak))
    bytes.push_back(live.bytes);
  EXPECT_THAT(bytes, ::testing::ElementsAre(100, 50, 40, 30));
  EXPECT_EQ(findPeakPhase({}), nullptr);
}

TEST(TimelineTest, CommunicationBesideOtherCommandsIsNotExposed) {
  auto exchange = [](double start, double end, int64_t bytes) {
    TimedCommand command = makeCommand(CommandPhase::Communication, "", start, end);
    command.isCollective = true;
    command.wireBytes = bytes;
    return command;
  };
  MemoryTimeline timeline;
  // Commands from 0 to 4 and from 6 to 7; collectives from 2 to 5, from 4.5 to 6.5 and from 8 to 9.
  timeline.commands = {makeCommand(CommandPhase::Backward, "a", 0, 4), exchange(2, 5, 100), exchange(4.5, 6.5, 10),
                       makeCommand(CommandPhase::Backward, "b", 6, 7), exchange(8, 9, 1)};
  CommunicationSummary summary = summarizeCommunication(timeline);
  EXPECT_EQ(summary.collectives, 3);
  EXPECT_EQ(summary.wireBytes, 111);
  EXPECT_DOUBLE_EQ(summary.seconds, 6);
  EXPECT_DOUBLE_EQ(summary.exposedSeconds, 3);
  EXPECT_EQ(summarizeCommunication(makeTimeline()).collectives, 0);
  std::vector<CollectiveSummary> collectives = listCollectives(timeline);
  ASSERT_EQ(collectives.size(), 3u);
  EXPECT_DOUBLE_EQ(collectives[0].exposedSeconds, 1);
  // From 4.5 to 6, half a second of it beside the first collective.
  EXPECT_DOUBLE_EQ(collectives[1].exposedSeconds, 1.5);
  EXPECT_DOUBLE_EQ(collectives[2].exposedSeconds, 1);
  EXPECT_EQ(collectives[1].command->wireBytes, 10);
  EXPECT_TRUE(listCollectives(makeTimeline()).empty());
}

TEST(TimelineTest, TheMiddleLayerKeepsItsActivations) {
  LayerMemory memory = summarizeMiddleLayer(makeTimeline());
  EXPECT_EQ(memory.layer, "layers.1");
  ASSERT_EQ(memory.kept.size(), 1u);
  EXPECT_EQ(memory.keptBytes, 50);
  EXPECT_EQ(memory.gradientBytes, 20);
  EXPECT_TRUE(summarizeMiddleLayer(MemoryTimeline()).layer.empty());
}

/// Returns the program of this IR, or failure if the IR is invalid.
static mlir::FailureOr<format::ExecutableT> describeText(llvm::StringRef text, Target target) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return mlir::failure();
  return describeProgram(*module, target);
}

/// %a is in use on stream 0 and %b on stream 1, which waits for the first copy.
constexpr char kTwoStreams[] = R"(
exec.variable @w parameter : memref<1048576xf32>
exec.entry @forward mode<forward> arena_bytes = 12582912 alignment = 64 {
  %x = exec.input "x" : memref<1048576xf32>
  %y = exec.output "y" output offset = 0 : memref<1048576xf32>
  %a = exec.alloc offset = 4194304 : memref<1048576xf32>
  exec.copy ins(%x : memref<1048576xf32>) outs(%a : memref<1048576xf32>)
  exec.record 0
  exec.copy ins(%a : memref<1048576xf32>) outs(%y : memref<1048576xf32>)
  exec.wait 0 {stream = 1 : i64}
  %b = exec.alloc offset = 8388608 : memref<1048576xf32>
  exec.copy ins(%x : memref<1048576xf32>) outs(%b : memref<1048576xf32>) {stream = 1 : i64}
  exec.collective all_reduce sum ins(%b : memref<1048576xf32>) outs(%b : memref<1048576xf32>) group = 2 {stream = 1 : i64}
}
)";

TEST(TimelineTest, StreamsOverlapAndAwaitEvents) {
  const DeviceModel &model = getDefaultDeviceModel(/*isForGPU=*/false);
  auto program = describeText(kTwoStreams, Target::CPU);
  ASSERT_TRUE(mlir::succeeded(program));
  MemoryTimeline timeline = computeTimeline(*program, *findEntry(*program, Mode::Forward), model);
  ASSERT_EQ(timeline.commands.size(), 6u);
  double copy = model.commandSeconds + 8388608 / model.memoryBytes;
  llvm::ArrayRef<TimedCommand> commands = timeline.commands;
  EXPECT_DOUBLE_EQ(commands[0].end, copy);
  EXPECT_DOUBLE_EQ(commands[2].start, copy);
  EXPECT_DOUBLE_EQ(commands[2].end, 2 * copy);
  // Stream 1 continues when the event has occurred, beside the second copy of stream 0.
  EXPECT_DOUBLE_EQ(commands[4].start, copy);
  EXPECT_DOUBLE_EQ(commands[5].start, 2 * copy);
  // Each of two ranks sends 4 MiB, the size of the buffer, in two steps.
  const Interconnect &links = model.interconnect;
  double exchange = links.startSeconds + 2 * links.link.stepSeconds + 4194304 / links.link.bytesPerSecond;
  EXPECT_NEAR(commands[5].end, 2 * copy + exchange, 1e-12);
  EXPECT_TRUE(commands[5].isCollective);
  EXPECT_EQ(commands[5].wireBytes, 4194304);
  // The second copy of stream 0 ends as the collective starts, so all of it is exposed.
  CommunicationSummary communication = summarizeCommunication(timeline);
  EXPECT_EQ(communication.collectives, 1);
  EXPECT_EQ(communication.wireBytes, 4194304);
  EXPECT_NEAR(communication.seconds, exchange, 1e-12);
  EXPECT_NEAR(communication.exposedSeconds, exchange, 1e-12);
  EXPECT_DOUBLE_EQ(timeline.getSeconds(), commands[5].end);
  EXPECT_EQ(commands[1].end, commands[1].start);

  ASSERT_EQ(timeline.allocations.size(), 3u);
  auto getKind = [&](int64_t offset) {
    for (const Allocation &each : timeline.allocations)
      if (each.offset == offset)
        return each.kind;
    return MemoryKind::Parameter;
  };
  EXPECT_EQ(getKind(0), MemoryKind::Output);
  EXPECT_EQ(getKind(4194304), MemoryKind::Temporary);
  EXPECT_EQ(getKind(8388608), MemoryKind::Communication);
  EXPECT_EQ(timeline.getResidentBytes()[MemoryKind::Parameter], 4194304);
  EXPECT_EQ(timeline.getResidentBytes()[MemoryKind::Input], 4194304);
  EXPECT_EQ(timeline.arenaBytes, 12582912);
  // No entry uses the variable: a GPU leaves it in the host's memory.
  program->target = format::Target::cuda;
  MemoryTimeline onGPU = computeTimeline(*program, *program->entries.front(), model);
  EXPECT_EQ(onGPU.hostBytes, 4194304);
  EXPECT_EQ(onGPU.getResidentBytes()[MemoryKind::Parameter], 0);
  // The inputs of the next runs are copied into two further blocks.
  EXPECT_EQ(onGPU.getResidentBytes()[MemoryKind::Input], 3 * 4194304);
  EXPECT_EQ(findEntry(*program, Mode::Train), nullptr);
}

/// Tables of which a kernel selects few rows, many rows, and few rows while it also reads the whole table; and the
/// gradient of a table, of which it writes every row.
constexpr char kEmbeddings[] = R"(
exec.kernel @few(%table: tensor<64x4xf32>, %ids: tensor<3xi64>) : (memref<64x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  %0 = cs336.embedding %table, %ids : tensor<64x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.kernel @many(%table: tensor<2x4xf32>, %ids: tensor<3xi64>) : (memref<2x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  %0 = cs336.embedding %table, %ids : tensor<2x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.kernel @both(%table: tensor<64x4xf32>, %ids: tensor<3xi64>)
    : (memref<64x4xf32>, memref<3xi64>) -> (memref<3x4xf32>, memref<64x4xf32>) {
  %0 = cs336.embedding %table, %ids : tensor<64x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %1 = cs336.neg %table : tensor<64x4xf32>
  exec.yield %0, %1 : tensor<3x4xf32>, tensor<64x4xf32>
}
exec.kernel @gradient(%ids: tensor<3xi64>, %dy: tensor<3x4xf32>) : (memref<3xi64>, memref<3x4xf32>) -> memref<64x4xf32> {
  %0 = cs336.embedding_grad %ids, %dy : tensor<3xi64>, tensor<3x4xf32> -> tensor<64x4xf32>
  exec.yield %0 : tensor<64x4xf32>
}
exec.entry @forward mode<forward> arena_bytes = 4096 alignment = 64 {
  %large = exec.input "large" : memref<64x4xf32>
  %small = exec.input "small" : memref<2x4xf32>
  %ids = exec.input "ids" bound = 2 : memref<3xi64>
  %y = exec.output "y" output offset = 0 : memref<3x4xf32>
  %z = exec.output "z" output offset = 64 : memref<64x4xf32>
  %0 = exec.alloc offset = 2048 : memref<3x4xf32>
  %1 = exec.alloc offset = 2112 : memref<3x4xf32>
  %2 = exec.alloc offset = 3072 : memref<64x4xf32>
  exec.launch @few ins(%large, %ids : memref<64x4xf32>, memref<3xi64>) outs(%0 : memref<3x4xf32>)
  exec.launch @many ins(%small, %ids : memref<2x4xf32>, memref<3xi64>) outs(%1 : memref<3x4xf32>)
  exec.launch @both ins(%large, %ids : memref<64x4xf32>, memref<3xi64>) outs(%y, %z : memref<3x4xf32>, memref<64x4xf32>)
  exec.launch @gradient ins(%ids, %0 : memref<3xi64>, memref<3x4xf32>) outs(%2 : memref<64x4xf32>)
}
)";

TEST(TimelineTest, AnEmbeddingReadsTheRowsThatItSelects) {
  auto program = describeText(kEmbeddings, Target::CPU);
  ASSERT_TRUE(mlir::succeeded(program));
  std::vector<double> bytes;
  for (const TimedCommand &command :
       computeTimeline(*program, *findEntry(*program, Mode::Forward), getDefaultDeviceModel(false)).commands)
    bytes.push_back(command.work.bytes);
  constexpr double kRow = 16, kIds = 24;
  EXPECT_THAT(bytes,
              ::testing::ElementsAre(kIds + 6 * kRow, kIds + 5 * kRow, kIds + 67 * kRow + 64 * kRow, kIds + 67 * kRow));
}

/// Two ranks reduce a gradient and update parts of it. The optimizer's sum of squares is reduced too.
constexpr char kShardedGradient[] = R"(
exec.variable @w parameter : memref<512xf32>
exec.entry @train mode<train> arena_bytes = 6272 alignment = 64 {
  %w = exec.get @w : memref<512xf32>
  %x = exec.input "x" : memref<1024xf32>
  %s = exec.input "s" : memref<1xf32>
  %gradient = exec.alloc offset = 0 : memref<1024xf32>
  %part = exec.alloc offset = 4096 : memref<512xf32>
  %square = exec.alloc offset = 6144 : memref<1xf32>
  %sum = exec.alloc offset = 6208 : memref<1xf32>
  exec.copy ins(%x : memref<1024xf32>) outs(%gradient : memref<1024xf32>) loc("backward")
  exec.collective reduce_scatter mean ins(%gradient : memref<1024xf32>) outs(%part : memref<512xf32>) group = 2 loc("communication")
  exec.copy ins(%s : memref<1xf32>) outs(%square : memref<1xf32>) loc("optimizer")
  exec.collective all_reduce sum ins(%square : memref<1xf32>) outs(%sum : memref<1xf32>) group = 2 loc("communication")
  exec.copy ins(%part : memref<512xf32>) outs(%w : memref<512xf32>) loc("optimizer")
}
)";

TEST(TimelineTest, ReducedPartsOfGradientsAreGradients) {
  auto program = describeText(kShardedGradient, Target::CPU);
  ASSERT_TRUE(mlir::succeeded(program));
  MemoryTimeline timeline = computeTimeline(*program, *findEntry(*program, Mode::Train), getDefaultDeviceModel(false));
  std::map<int64_t, MemoryKind> kinds;
  for (const Allocation &allocation : timeline.allocations)
    kinds[allocation.offset] = allocation.kind;
  EXPECT_EQ(kinds[0], MemoryKind::Gradient);
  EXPECT_EQ(kinds[4096], MemoryKind::Gradient);
  EXPECT_EQ(kinds[6144], MemoryKind::Communication);
  EXPECT_EQ(kinds[6208], MemoryKind::Communication);
}

/// The second collective waits for the first, which is on its stream. The copies do not.
constexpr char kQueuedCollectives[] = R"(
exec.entry @forward mode<forward> arena_bytes = 12582912 alignment = 64 {
  %x = exec.input "x" : memref<1048576xf32>
  %y = exec.output "y" output offset = 0 : memref<1048576xf32>
  %a = exec.alloc offset = 4194304 : memref<1048576xf32>
  %b = exec.alloc offset = 8388608 : memref<1048576xf32>
  exec.collective broadcast ins(%x : memref<1048576xf32>) outs(%a : memref<1048576xf32>) group = 2 root = 0 {stream = 1 : i64}
  exec.collective broadcast ins(%x : memref<1048576xf32>) outs(%b : memref<1048576xf32>) group = 2 root = 0 {stream = 1 : i64}
  exec.record 0 {stream = 1 : i64}
  exec.copy ins(%x : memref<1048576xf32>) outs(%y : memref<1048576xf32>)
  exec.wait 0
  exec.copy ins(%b : memref<1048576xf32>) outs(%y : memref<1048576xf32>)
}
)";

TEST(TimelineTest, ComputationDoesNotWaitForQueuedCollectives) {
  const DeviceModel &model = getDefaultDeviceModel(/*isForGPU=*/true);
  auto program = describeText(kQueuedCollectives, Target::CUDA);
  ASSERT_TRUE(mlir::succeeded(program));
  MemoryTimeline timeline = computeTimeline(*program, *findEntry(*program, Mode::Forward), model);
  llvm::ArrayRef<TimedCommand> commands = timeline.commands;
  ASSERT_EQ(commands.size(), 6u);
  EXPECT_DOUBLE_EQ(commands[1].start, commands[0].end);
  EXPECT_DOUBLE_EQ(commands[3].start, 0);
  EXPECT_LT(commands[3].end, commands[1].end);
  EXPECT_DOUBLE_EQ(commands[5].start, commands[1].end);
  EXPECT_DOUBLE_EQ(timeline.getSeconds(), commands[5].end);
}

TEST(DeviceModelTest, CommandsTakeTheLongerOfArithmeticAndMemory) {
  const DeviceModel &model = getDefaultDeviceModel(/*isForGPU=*/true);
  EXPECT_EQ(model.name, "h200");
  exec::Work compute{1, 0, 0, 7e12, 8}, move{1, 0, 0, 8, 4.24e12};
  auto getSeconds = [&](const exec::Work &work, format::Arithmetic arithmetic) {
    return predictTime(model, work, arithmetic).getTotal() - model.commandSeconds;
  };
  EXPECT_NEAR(getSeconds(compute, format::Arithmetic::bf16), 0.01, 1e-9);
  EXPECT_NEAR(getSeconds(compute, format::Arithmetic::f32), 7.0 / 47, 1e-9);
  EXPECT_NEAR(getSeconds(compute, format::Arithmetic::tf32), 7.0 / 340, 1e-9);
  EXPECT_NEAR(getSeconds(compute, format::Arithmetic::tf32x3), 21.0 / 340, 1e-9);
  EXPECT_NEAR(getSeconds(move, format::Arithmetic::bf16), 1, 1e-9);
  EXPECT_EQ(predictTime(model, {}, format::Arithmetic::none).getTotal(), 0);
  EXPECT_EQ(findDeviceModel("h2000"), nullptr);
}

TEST(MemorySnapshotTest, FilesStayBelowTheLimitAtAnySize) {
  MemoryTimeline timeline;
  constexpr size_t kCommands = 100000;
  for (size_t index = 0; index < kCommands; ++index) {
    timeline.commands.push_back(makeCommand(CommandPhase::Forward, "", double(index), double(index) + 1));
    timeline.allocations.push_back(makeAllocation(int64_t(kCommands - index), MemoryKind::Activation, index, index,
                                                  "layers." + std::to_string(index) + ".ffn.operation"));
    timeline.allocations.back().type = "128x65536x25600xf32";
    timeline.allocations.back().location = timeline.allocations.back().source;
    timeline.allocations.back().offset = int64_t(index) << 20;
  }
  timeline.arenaBytes = int64_t(kCommands) << 20;
  std::string text;
  llvm::raw_string_ostream stream(text);
  OmittedAllocations omitted = writeMemorySnapshot(timeline, stream);
  EXPECT_LT(text.size(), 20000000u);
  EXPECT_GT(text.size(), 12000000u);
  EXPECT_LT(omitted.count, kCommands / 2);
  // The smallest ones, whose sizes are 1, 2, ...
  EXPECT_EQ(omitted.largestBytes, int64_t(omitted.count));
}

TEST(MemorySnapshotTest, LongNamesAndManyVariablesDoNotExceedTheLimit) {
  constexpr size_t kCommands = 60000;
  MemoryTimeline timeline;
  std::string text, path(4000, 'x');
  for (size_t index = 0; index < kCommands; ++index) {
    std::string unique = std::to_string(index), layer = "layer" + unique + path;
    timeline.commands.push_back(makeCommand(CommandPhase::Forward, unique, double(index), double(index + 1)));
    Allocation &allocation = timeline.allocations.emplace_back(makeAllocation(
        int64_t(kCommands - index) << 10, MemoryKind::Temporary, index, index, layer + ".operation" + unique + path));
    allocation.location = "location" + unique + path;
    // In increasing order: the last variables are the largest.
    Allocation &resident = timeline.residents.emplace_back();
    resident.bytes = int64_t(index + 1) << 10;
    resident.source = "variable" + layer + ".weight" + unique + path;
    resident.location = "file" + unique + path;
  }
  timeline.arenaBytes = int64_t(kCommands) << 10;
  llvm::raw_string_ostream stream(text);
  OmittedAllocations omitted = writeMemorySnapshot(timeline, stream);
  EXPECT_LT(text.size(), kMostSnapshotBytes);
  EXPECT_GT(text.size(), kMostSnapshotBytes * 3 / 4);
  // Two of each size.
  EXPECT_EQ(omitted.largestBytes, int64_t((omitted.count + 1) / 2) << 10);
  EXPECT_NE(text.find("location0xxx"), std::string::npos);
  EXPECT_NE(text.find("file" + std::to_string(kCommands - 1) + "xxx"), std::string::npos);
  EXPECT_EQ(text.find(std::string(100, 'x')), std::string::npos);
}

} // namespace cs336::bench::timeline_test
