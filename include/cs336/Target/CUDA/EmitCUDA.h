//===- EmitCUDA.h - Kernels as CUDA C++ text --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_EMITCUDA_H
#define CS336_TARGET_CUDA_EMITCUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace cs336 {

struct CUDAOptions {
  /// Whether a kernel that no schedule accepts is an error. Otherwise it is left out, with a remark at the kernel and a
  /// comment in the text that both say why.
  bool requireAll = false;
};

/// Writes one self-contained translation unit with a `__global__` function for every `exec.kernel` of the module, for
/// NVRTC or nvcc (C++17, compute capability 8.0 and later). A kernel takes a pointer an operand, inputs before outputs,
/// each to element 0 of what the launch passes. Storage is aligned to 16 bytes at least; how far views of it are
/// aligned is read from the module's launches, so the text holds for them and no others. The comment above each kernel
/// names its operands, what it computes, and the grid that it expects.
mlir::LogicalResult emitCUDA(mlir::ModuleOp module, llvm::raw_ostream &os, const CUDAOptions &options = {});

} // namespace cs336

#endif // CS336_TARGET_CUDA_EMITCUDA_H
