//===- ModuleKernels.h - Kernels of a program in IR -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_MODULEKERNELS_H
#define CS336_BENCH_EXPLAIN_MODULEKERNELS_H

#include "cs336/Bench/Explain/KernelFacts.h"
#include "cs336/Driver/Compile/CompileModule.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// Machine code of a kernel, and whether it was in the cache.
struct CachedKernel {
  std::string kernel, architecture;
  bool wasCached = false;
};

/// Options of `explainModule`.
struct ModuleOptions {
  CompileOptions compile;
  /// Predicts times.
  const DeviceModel *device = nullptr;
  /// If true, all kernels are compiled; otherwise, on GPUs, only the selected ones.
  bool compilesAll = false;
};

/// Runs the pipeline on the module and describes the selected kernels. Kernels for GPUs are compiled for the
/// architectures of the options; this needs no GPU. If NVRTC is missing, a note states this, and the descriptions have
/// no resources. Appends the compiled kernels to `compiled`. Fails with diagnostics, or with the error of `select` in
/// `status`.
llvm::LogicalResult explainModule(mlir::ModuleOp module, const ModuleOptions &options, SelectKernels select,
                                  ExplainedProgram &program, std::vector<CachedKernel> &compiled, absl::Status &status);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_MODULEKERNELS_H
