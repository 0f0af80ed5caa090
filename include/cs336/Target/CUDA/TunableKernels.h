//===- TunableKernels.h - Kernels with several schedules --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_TUNABLEKERNELS_H
#define CS336_TARGET_CUDA_TUNABLEKERNELS_H

#include "cs336/Target/CUDA/EmitCUDA.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace cs336::cuda {

/// A kernel for which several schedules are worth timing: an attention or its gradient.
struct TunableKernel {
  exec::KernelOp kernel;
  /// Everything that the times of its schedules depend on, apart from the GPU: "attention bf16 by tensor cores, causal,
  /// batches 4, …". Kernels with equal problems have the same candidates.
  std::string problem;
  /// Selections that the kernel can have. The first is the one that is made without timing. The order of the others is
  /// that of their predicted times, per schedule.
  llvm::SmallVector<ScheduleSelection> candidates;
};

/// Returns the launched kernels of the module that have at least two candidates for an architecture. Kernels with
/// another selection for it than the one that is made without timing are left out. Fails with a diagnostic if a kernel
/// cannot be read.
mlir::FailureOr<std::vector<TunableKernel>> findTunableKernels(mlir::ModuleOp module, llvm::StringRef architecture);

/// Returns a module with a copy of a launched kernel, the selection for the architecture, and an entry `forward` that
/// launches it once. Its operands have the layouts and alignments of those in the kernel's module. Floating-point
/// inputs are variables with normal random values, all others are zeros.
mlir::OwningOpRef<mlir::ModuleOp> buildCandidate(exec::KernelOp kernel, const ScheduleSelection &selection,
                                                 llvm::StringRef architecture);

/// "attention {forward = {…}}"
std::string describeSelection(const ScheduleSelection &selection);

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_TUNABLEKERNELS_H
