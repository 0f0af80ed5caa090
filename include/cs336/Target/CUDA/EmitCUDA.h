//===- EmitCUDA.h - Kernels as CUDA C++ text --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_EMITCUDA_H
#define CS336_TARGET_CUDA_EMITCUDA_H

#include "cs336/Target/CUDA/KernelSchedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cs336 {

struct CUDAOptions {
  /// If true, a kernel that no schedule accepts is an error. Otherwise the kernel is omitted, and a remark and a
  /// comment in the text give the reason.
  bool requireAll = false;
};

/// Writes one self-contained translation unit with the `__global__` functions of every `exec.kernel` of the module, for
/// NVRTC or nvcc (C++17, compute capability 8.0 and later). A function takes one pointer per operand, inputs before
/// outputs, each to element 0 of the launch's operand, then the workspace if the kernel has one. Storage is aligned to
/// at least 16 bytes. The alignment of views is taken from the module's launches, so the text is valid for these
/// launches only. The comment above each kernel has its operands, its computation, and the grids that it expects.
///
/// The text is for the first architecture of the module's `exec.architectures`, or for all if there is none.
mlir::LogicalResult emitCUDA(mlir::ModuleOp module, llvm::raw_ostream &os, const CUDAOptions &options = {});

namespace cuda {

/// The schedule of one part of a kernel.
struct SelectedSchedule {
  std::string name;
  /// The parameters of the schedule, by name; null if it has none, or if it chooses them itself.
  mlir::DictionaryAttr parameters;

  bool operator==(const SelectedSchedule &other) const = default;
};

/// One schedule per part.
using ScheduleSelection = llvm::SmallVector<SelectedSchedule, 1>;

class TunedSchedules;

/// One text of a kernel.
struct CUDAImplementation {
  /// The architectures that share this text, among those for which text was emitted.
  llvm::SmallVector<std::string> architectures;
  /// A translation unit: the part of `emitCUDA`'s text for this kernel.
  std::string text;
  /// The functions of a launch, in order. Each takes all operands of the kernel, then the workspace if there is one,
  /// and then its tensor maps.
  llvm::SmallVector<KernelFunction> functions;
  /// Bytes of the workspace that every launch provides, aligned like all storage; 0 for none.
  int64_t workspaceBytes;
  /// The schedules that wrote the text.
  ScheduleSelection schedules;
};

/// A kernel with the information that a launch requires.
struct CUDAKernel {
  /// The symbol of the `exec.kernel`.
  std::string name;
  llvm::SmallVector<CUDAImplementation, 1> implementations;
  /// Alignment in bytes that the text assumes of each operand's address.
  llvm::SmallVector<int64_t> alignments;
  mlir::Location loc;

  /// Returns the bytes of a launch's workspace, which is large enough for every implementation; 0 for none.
  int64_t getWorkspaceBytes() const;
};

} // namespace cuda

/// Returns the texts of every kernel that the module launches, in the module's order, for these architectures. Without
/// architectures, there is one text per kernel, which runs on all architectures. Fails with a diagnostic if no schedule
/// accepts a kernel.
mlir::FailureOr<std::vector<cuda::CUDAKernel>> emitCUDAKernels(mlir::ModuleOp module,
                                                               llvm::ArrayRef<std::string> architectures);

/// Writes the schedules of the kernels whose problems `tuned` has as the attribute `exec.schedules`, for the
/// architectures of the module. Kernels that have the attribute for an architecture keep it. Fails with a diagnostic if
/// a kernel cannot be read.
mlir::LogicalResult selectTunedSchedules(mlir::ModuleOp module, const cuda::TunedSchedules &tuned);

} // namespace cs336

#endif // CS336_TARGET_CUDA_EMITCUDA_H
