//===- ModelPlan.h - What a model needs, without running it -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_MODELPLAN_H
#define CS336_BENCH_PLAN_MODELPLAN_H

#include "cs336/Bench/Timeline/TimelineSummary.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Frontend/ModelDescription.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336::bench {

/// Memory and work of a model, computed from its planned program. No kernel is compiled, and no device is required.
struct ModelPlan {
  /// The variables, which live as long as a session.
  int64_t parameterBytes = 0, stateBytes = 0, derivedBytes = 0;
  /// The bytes of variables that stay in the host's memory on a GPU. The other numbers do not include them.
  int64_t hostBytes = 0;
  /// The share of --cs336-selective-checkpoint, from 0 to 1: the value of the option, or the share that the memory
  /// budget requires.
  double recomputedShare = 0;
  /// Inputs of all entries, and the memory beside values (see MemoryTimeline::residents).
  int64_t inputBytes = 0;
  /// The largest of the entries' arenas, which they share. Outputs are in them.
  int64_t arenaBytes = 0;

  /// The commands and allocations of the entry with the model's mode, and sums of them.
  MemoryTimeline timeline;
  std::vector<PhaseSummary> phases;
  std::vector<KernelSummary> kernels;
  CommunicationSummary communication;
  LayerMemory layerMemory;
  int64_t layers = 0;

  /// Returns the predicted seconds per token of a step of `description`, which has this plan.
  double getSecondsPerToken(const ModelDescription &description) const;
  /// Returns the bytes of everything except the arena.
  int64_t getResidentBytes() const { return parameterBytes + stateBytes + derivedBytes + inputBytes; }
  /// Returns the bytes that a session reserves on its device (format::ReservedMemory).
  int64_t getTotalBytes() const { return getResidentBytes() + arenaBytes; }
  exec::Work getWork() const;
  /// Commands that belong to layers, by layer.
  double getCommandsPerLayer() const;
};

/// Runs the pipeline on the model and returns the plan. `device` predicts times; null stands for the default of the
/// target. `warn` receives the compiler's warnings.
absl::StatusOr<ModelPlan> planModel(const ModelDescription &description, const CompileOptions &options,
                                    llvm::function_ref<void(llvm::StringRef)> warn,
                                    const DeviceModel *device = nullptr);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_MODELPLAN_H
