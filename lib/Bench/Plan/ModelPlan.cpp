//===- ModelPlan.cpp - What a model needs, without running it -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/ModelPlan.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Target/Executable/EmitExecutable.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

exec::Work ModelPlan::getWork() const {
  exec::Work sum;
  for (const PhaseSummary &phase : phases)
    sum += phase.work;
  return sum;
}

double ModelPlan::getCommandsPerLayer() const {
  exec::Work sum;
  for (const PhaseSummary &phase : phases)
    sum += phase.inLayers;
  return layers == 0 ? 0 : static_cast<double>(sum.getCommands()) / static_cast<double>(layers);
}

double ModelPlan::getSecondsPerToken(const ModelDescription &description) const {
  const TransformerConfig &config = description.transformer;
  return timeline.getSeconds() / static_cast<double>(config.batchSize * config.contextLength);
}

/// Computes the timeline of the entry for that mode, and its sums.
static void summarize(const format::ExecutableT &program, Mode mode, const DeviceModel &device, ModelPlan &plan) {
  if (const format::EntryT *entry = findEntry(program, mode))
    plan.timeline = computeTimeline(program, *entry, device);
  KindBytes residents = plan.timeline.getResidentBytes();
  plan.parameterBytes = residents[MemoryKind::Parameter];
  plan.stateBytes = residents[MemoryKind::State];
  plan.derivedBytes = residents[MemoryKind::Derived];
  plan.inputBytes = residents[MemoryKind::Input];
  plan.hostBytes = plan.timeline.hostBytes;
  plan.arenaBytes = plan.timeline.arenaBytes;
  plan.phases = summarizePhases(plan.timeline);
  plan.kernels = summarizeKernels(plan.timeline);
  plan.communication = summarizeCommunication(plan.timeline);
  plan.layerMemory = summarizeMiddleLayer(plan.timeline);
  plan.layers = countLayers(plan.timeline);
}

absl::StatusOr<ModelPlan> bench::planModel(const ModelDescription &description, const CompileOptions &options,
                                           llvm::function_ref<void(StringRef)> warn, const DeviceModel *device) {
  ModelPlan plan;
  bool isForGPU = options.target == Target::CUDA;
  // A plan needs no device to time schedules on.
  CompileOptions untuned = options;
  untuned.autotuner = nullptr;
  absl::Status status = withFittedModelIR(description, untuned, warn, [&](ModuleOp module, const CompileOptions &own) {
    if (failed(runPipeline(module, own)))
      return failure();
    PipelineOptions pipeline;
    llvm::cantFail(pipeline.read(own.pipeline));
    plan.recomputedShare = pipeline.selectiveCheckpoint;
    FailureOr<format::ExecutableT> program = describeProgram(module, options.target);
    if (failed(program))
      return failure();
    summarize(*program, description.mode, device ? *device : getDefaultDeviceModel(isForGPU), plan);
    return success();
  });
  if (!status.ok())
    return status;
  return plan;
}
