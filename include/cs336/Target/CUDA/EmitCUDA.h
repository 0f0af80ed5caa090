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
  /// Whether a kernel that no schedule accepts is an error. Otherwise it is left out, with a remark at the kernel and a
  /// comment in the text that both say why.
  bool requireAll = false;
};

/// Writes one self-contained translation unit with the `__global__` functions of every `exec.kernel` of the module, for
/// NVRTC or nvcc (C++17, compute capability 8.0 and later). A function takes a pointer an operand, inputs before
/// outputs, each to element 0 of what the launch passes, then the workspace if the kernel has one. Storage is aligned
/// to 16 bytes at least; how far views of it are aligned is read from the module's launches, so the text holds for them
/// and no others. The comment above each kernel names its operands, what it computes, and the grids that it expects.
mlir::LogicalResult emitCUDA(mlir::ModuleOp module, llvm::raw_ostream &os, const CUDAOptions &options = {});

namespace cuda {

/// A kernel as a launch needs it.
struct CUDAKernel {
  /// The symbol of the `exec.kernel`.
  std::string name;
  /// A translation unit of its own: the part of `emitCUDA`'s text that is about this kernel.
  std::string text;
  /// What a launch runs, one after the other, each with all operands of the kernel and then the workspace.
  llvm::SmallVector<KernelFunction> functions;
  /// Scratch memory that every launch must bring, aligned as all storage is; 0 if none.
  int64_t workspaceBytes;
  /// Bytes that the text takes the address of each operand to be a multiple of.
  llvm::SmallVector<int64_t> alignments;
  mlir::Location loc;
};

} // namespace cuda

/// The text of every kernel that the module launches, in the module's order. A kernel that no schedule accepts is an
/// error.
mlir::FailureOr<std::vector<cuda::CUDAKernel>> emitCUDAKernels(mlir::ModuleOp module);

} // namespace cs336

#endif // CS336_TARGET_CUDA_EMITCUDA_H
