//===- EntrySummary.h - Work and memory of an entry, by phase ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_ENTRYSUMMARY_H
#define CS336_DIALECT_EXEC_TRANSFORMS_ENTRYSUMMARY_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include <vector>

namespace cs336::exec {

/// What commands do. FLOPs are those of products (a multiply-add is two) and of the operations of kernels (see
/// `CostOpInterface`). Bytes are those of the buffers that commands read and write, each element once a command; a
/// gather counts its whole table, and workspaces are not counted.
struct Work {
  int64_t launches = 0, products = 0;
  /// Copies and collectives. Events are not counted at all.
  int64_t others = 0;
  double flops = 0, bytes = 0;

  int64_t getCommands() const { return launches + products + others; }
  void operator+=(const Work &other);
};

/// The commands of one phase, and the largest sum of allocations that hold values while one of them runs.
struct PhaseSummary {
  CommandPhase phase;
  Work work;
  /// Of `work`, what belongs to layers (see `getLayer`).
  Work inLayers;
  int64_t liveBytes = 0;
  /// What allocations of earlier phases still hold when the first command of this one starts.
  int64_t heldBytes = 0;
};

/// The runs of one kernel.
struct KernelSummary {
  llvm::StringRef name;
  Work work;
  int64_t runsInLayers = 0;
};

/// An allocation or output, from the phase of the first command that touches it to that of the last.
struct AllocationSummary {
  ArenaOpInterface storage;
  int64_t bytes;
  CommandPhase first, last;
  /// Whether it is scratch of one command.
  bool isWorkspace;
};

struct EntrySummary {
  /// Those that have commands, in order of their first one.
  std::vector<PhaseSummary> phases;
  /// The most bytes first.
  std::vector<KernelSummary> kernels;
  /// The largest first, then in order of first use.
  std::vector<AllocationSummary> allocations;
  /// How many layers commands belong to.
  int64_t layers = 0;
  int64_t inputBytes = 0;

  Work getWork() const;
};

/// The repeated part of the model that `path` belongs to: up to its first component that is a number ("layers.0" of
/// "layers.0.attn.q_proj"); empty if there is none.
llvm::StringRef getLayer(llvm::StringRef path);

/// Fails as `computeLifetimes` does.
mlir::FailureOr<EntrySummary> summarizeEntry(EntryOp entry);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_ENTRYSUMMARY_H
