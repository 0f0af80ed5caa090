//===- CUDATarget.h - Kernels as machine code of NVIDIA GPUs ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_CUDATARGET_H
#define CS336_TARGET_CUDA_CUDATARGET_H

#include "cs336/Target/CompiledKernels.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <string>
#include <vector>

namespace cs336 {

struct CUDATargetOptions {
  /// Real architectures, each of which gets machine code of its own: "sm_80", "sm_90a".
  std::vector<std::string> architectures;
  /// Folder that keeps machine code between runs (see CubinCache); empty for none.
  std::string cacheFolder;
  /// Folder for the text of each kernel, its machine code, and a table of their registers; empty for nowhere.
  std::string dumpDir;
};

/// Compiles every kernel that the module launches, each as a translation unit of its own, in parallel where the context
/// allows. It takes NVRTC, and neither a GPU nor a driver. Code that is in the cache is not compiled again; a cache
/// that cannot be written to is a warning.
///
/// Fails with a diagnostic if NVRTC is missing or does not know an architecture, if no schedule accepts a kernel, if a
/// launch lacks the workspace that its kernel needs (`--exec-add-workspaces`), and if a kernel's text does not compile:
/// the error is at the operation that the kernel is from and holds NVRTC's messages.
mlir::FailureOr<CompiledKernels> compileKernelsForCUDA(mlir::ModuleOp module, const CUDATargetOptions &options,
                                                       mlir::TimingScope *timing = nullptr);

} // namespace cs336

#endif // CS336_TARGET_CUDA_CUDATARGET_H
