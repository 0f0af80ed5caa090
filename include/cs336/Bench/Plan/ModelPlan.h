//===- ModelPlan.h - What a model needs, without running it -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_MODELPLAN_H
#define CS336_BENCH_PLAN_MODELPLAN_H

#include "cs336/Dialect/Exec/Transforms/EntrySummary.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Frontend/ModelDescription.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace cs336::bench {

/// Memory and work of a model, computed from its planned program. No kernel is compiled, and no device is required.
struct ModelPlan {
  struct Buffer {
    int64_t bytes;
    /// "4x25x512x512xf32" or "workspace", and the operation of the model that computes it: "layers.0.attn.scores".
    std::string type, source;
    /// The phases of its first and its last command.
    exec::CommandPhase first, last;
  };
  struct Kernel {
    std::string name;
    exec::Work work;
    int64_t runsInLayers;
  };

  /// The variables, which live as long as a session.
  int64_t parameterBytes = 0, stateBytes = 0, derivedBytes = 0;
  /// The bytes of variables that stay in the host's memory on a GPU. The other numbers do not include them.
  int64_t hostBytes = 0;
  /// Inputs of all entries of the program.
  int64_t inputBytes = 0;
  /// The largest of the entries' arenas, which they share. Outputs are in them.
  int64_t arenaBytes = 0;

  /// The numbers of the entry with the model's mode; see exec::EntrySummary.
  std::vector<exec::PhaseSummary> phases;
  std::vector<Kernel> kernels;
  /// Allocations and outputs, the largest first.
  std::vector<Buffer> buffers;
  int64_t layers = 0;

  /// All but the arena.
  int64_t getResidentBytes() const { return parameterBytes + stateBytes + derivedBytes + inputBytes; }
  /// Returns the bytes that a session allocates, without the alignment of variables.
  int64_t getTotalBytes() const { return getResidentBytes() + arenaBytes; }
  exec::Work getWork() const;
  /// Commands that belong to layers, by layer.
  double getCommandsPerLayer() const;
};

/// Takes the model through the pipeline. `warn` hears of what the compiler warns of.
absl::StatusOr<ModelPlan> planModel(const ModelDescription &description, const CompileOptions &options,
                                    llvm::function_ref<void(llvm::StringRef)> warn);

/// A change of a model or of how it is compiled, by which it fits into memory that it does not fit into as it is.
struct WayToFit {
  /// As flags: "--batch-size 2", "--fusion flash --dtype bf16".
  std::string flags;
  int64_t totalBytes;
};

struct WaysToFit {
  std::vector<WayToFit> ways;
  /// If recomputation is possible but no size of blocks fits: the variant with the least memory.
  std::optional<WayToFit> leastRecomputation;
};

/// Ways to bring the model below `limit`, each tried: more fusion, lower types, both, the fewest layers together whose
/// input alone is kept for the backward pass, the largest smaller batch, and the largest context of a half, a quarter,
/// and so on. `pipeline` are the options of `options` in detail.
absl::StatusOr<WaysToFit> findWaysToFit(const ModelDescription &description, const CompileOptions &options,
                                        const PipelineOptions &pipeline, int64_t limit);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_MODELPLAN_H
