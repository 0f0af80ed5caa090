//===- KernelDump.h - Files with the text and code of kernels ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_KERNELDUMP_H
#define CS336_LIB_TARGET_CUDA_KERNELDUMP_H

#include "cs336/Target/CUDA/CUDATarget.h"
#include "cs336/Target/CUDA/EmitCUDA.h"

namespace cs336::cuda {

/// Returns the path of a text: `folder`/kernels/NAME.cu, or NAME.ARCHITECTURE.cu with its first architecture if the
/// kernel has several.
std::string getTextPath(llvm::StringRef folder, const CUDAKernel &kernel, size_t implementation);

/// Writes every text of every kernel. Fails with a diagnostic at `loc`.
llvm::LogicalResult dumpTexts(llvm::ArrayRef<CUDAKernel> kernels, llvm::StringRef folder, mlir::Location loc);

/// Writes NAME.ARCHITECTURE.cubin for every kernel, and `folder`/kernels.txt, a table of every function's grid,
/// registers and spills.
llvm::LogicalResult dumpCubins(llvm::ArrayRef<KernelCubin> cubins, llvm::StringRef folder, mlir::Location loc);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_KERNELDUMP_H
