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

/// The work of commands. FLOPs are those of GEMMs (a multiply-add counts as two) and of the operations of kernels (see
/// `CostOpInterface`). Bytes are those of the buffers that commands read and write, each element once per command. A
/// gather counts its whole table. Workspaces are not counted.
struct Work {
  int64_t launches = 0, gemms = 0;
  /// Copies and collectives. Events are not counted.
  int64_t others = 0;
  double flops = 0, bytes = 0;

  int64_t getCommands() const { return launches + gemms + others; }
  void operator+=(const Work &other);
};

/// The commands of one phase, and the largest sum of live allocations during one of them.
struct PhaseSummary {
  CommandPhase phase;
  Work work;
  /// The part of `work` that belongs to layers (see `getLayer`).
  Work inLayers;
  int64_t liveBytes = 0;
  /// Bytes of earlier phases' allocations that are live when the first command of this phase starts.
  int64_t heldBytes = 0;
};

/// The launches of one kernel.
struct KernelSummary {
  llvm::StringRef name;
  Work work;
  int64_t runsInLayers = 0;
};

/// An allocation or output, from the phase of the first command that uses it to that of the last.
struct AllocationSummary {
  ArenaOpInterface storage;
  int64_t bytes;
  CommandPhase first, last;
  /// True for the workspace of one command.
  bool isWorkspace;
};

struct EntrySummary {
  /// Phases with commands, in order of their first command.
  std::vector<PhaseSummary> phases;
  /// In decreasing order of bytes.
  std::vector<KernelSummary> kernels;
  /// In decreasing order of size, then in order of first use.
  std::vector<AllocationSummary> allocations;
  /// Number of layers that commands belong to.
  int64_t layers = 0;
  int64_t inputBytes = 0;

  Work getWork() const;
};

/// Returns the repeated part of the model that `path` belongs to: `path` up to its first component that is a number
/// ("layers.0" for "layers.0.attn.q_proj"), or "" if there is none.
llvm::StringRef getLayer(llvm::StringRef path);

/// Summarizes the work and memory of an entry. Fails if `computeLifetimes` fails.
mlir::FailureOr<EntrySummary> summarizeEntry(EntryOp entry);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_ENTRYSUMMARY_H
