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

#include <optional>

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
  /// Inputs of all entries of the program.
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
  /// Returns the bytes that a session allocates, without the alignment of variables.
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

/// A change of a model, or of its compilation, that makes it fit into a limit of memory.
struct WayToFit {
  /// The change as flags: "--batch-size 2", "--fusion flash --dtype bf16".
  std::string flags;
  int64_t totalBytes;
  /// Predicted seconds per token.
  double secondsPerToken;
};

struct WaysToFit {
  std::vector<WayToFit> ways;
  /// If recomputation is possible but no size of blocks fits: the variant with the least memory.
  std::optional<WayToFit> leastRecomputation;
  /// The change with the least memory of all that were planned, whether it fits or not. Absent if none was planned.
  std::optional<WayToFit> least;
};

/// Finds changes that bring the model below `limit`. It plans each of them: more fusion, lower types, both, the least
/// recomputation (`--memory-budget`), the fewest layers that are recomputed together from one kept input, the largest
/// smaller batch, and the largest smaller context. The next larger batch or context, or fewer layers together, do not
/// fit. A larger limit never gives a smaller batch or context, or more layers together. `device` predicts times, as in
/// `planModel`. `pipeline` has the parsed pipeline options of `options`.
absl::StatusOr<WaysToFit> findWaysToFit(const ModelDescription &description, const CompileOptions &options,
                                        const PipelineOptions &pipeline, int64_t limit,
                                        const DeviceModel *device = nullptr);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_MODELPLAN_H
