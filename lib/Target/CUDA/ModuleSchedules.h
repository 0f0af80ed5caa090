//===- ModuleSchedules.h - The schedules of a module's kernels --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_MODULESCHEDULES_H
#define CS336_LIB_TARGET_CUDA_MODULESCHEDULES_H

#include "ScheduleSelection.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace cs336::cuda {

/// The schedules of all kernels of a module, for each architecture of its `exec.architectures`. An analysis for passes:
/// it stays valid when its selections become attributes, so that passes in succession read and schedule the kernels
/// once.
class ModuleSchedules {
public:
  /// Schedules the kernels, in parallel if the context allows it. Emits a diagnostic if no schedule accepts a kernel.
  explicit ModuleSchedules(mlir::Operation *module);

  /// Returns false if a diagnostic was emitted. The other functions require true.
  bool isComplete() const { return complete; }
  /// Returns the bytes of the workspace of a kernel, by its symbol: enough for each architecture, and 0 for none.
  int64_t getWorkspaceBytes(llvm::StringRef kernel) const { return workspaceBytes.lookup(kernel); }
  /// Writes the schedules of every kernel, with all of their parameters, as its attribute `exec.schedules`.
  void writeSelections() const;

private:
  struct Selected {
    exec::KernelOp kernel;
    const TargetDescription *target;
    ScheduleSelection selection;
  };

  mlir::LogicalResult scheduleAll(mlir::ModuleOp module);

  std::vector<Selected> selections;
  llvm::StringMap<int64_t> workspaceBytes;
  bool complete;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_MODULESCHEDULES_H
