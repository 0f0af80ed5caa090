//===- CUDATarget.h - Kernels as machine code of NVIDIA GPUs ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_CUDATARGET_H
#define CS336_TARGET_CUDA_CUDATARGET_H

#include "cs336/Target/CompiledKernels.h"
#include "cs336/Target/NVRTC/NVRTC.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <string>
#include <vector>

namespace cs336 {

struct CUDATargetOptions {
  /// The real architectures, each with its own machine code: "sm_80", "sm_90a".
  std::vector<std::string> architectures;
  /// The folder that keeps machine code between runs (see CubinCache). Empty to keep nothing.
  std::string cacheFolder;
  /// The folder for the text of each kernel, its machine code, and a table of registers. Empty to write nothing.
  std::string dumpDir;
};

namespace cuda {
struct CUDAKernel;

/// The machine code of a kernel's text for one architecture.
struct KernelCubin {
  const CUDAKernel *kernel;
  size_t implementation; // Its position in the kernel.
  Cubin cubin;
  /// True if the code is from the cache of earlier runs.
  bool wasCached = false;
};

/// Compiles the texts of kernels for all their architectures, as `compileKernelsForCUDA` does: in order of kernels, of
/// implementations and of their architectures. The kernels must outlive the result. Writes nothing to the dump folder.
mlir::FailureOr<std::vector<KernelCubin>> compileTexts(mlir::ModuleOp module, llvm::ArrayRef<CUDAKernel> kernels,
                                                       const CUDATargetOptions &options,
                                                       mlir::TimingScope *timing = nullptr);
} // namespace cuda

/// Compiles every kernel that the module launches, each as its own translation unit, in parallel if the context allows
/// it. It requires NVRTC, but neither a GPU nor a driver. Code in the cache is not compiled again. Warns if the cache
/// cannot be written.
///
/// Fails with a diagnostic if NVRTC is missing or does not support an architecture, if no schedule accepts a kernel, if
/// a launch lacks the workspace that its kernel requires (`--exec-add-workspaces`), and if a kernel's text does not
/// compile. The latter error has the location of the kernel's operation and contains NVRTC's messages.
mlir::FailureOr<CompiledKernels> compileKernelsForCUDA(mlir::ModuleOp module, const CUDATargetOptions &options,
                                                       mlir::TimingScope *timing = nullptr);

} // namespace cs336

#endif // CS336_TARGET_CUDA_CUDATARGET_H
