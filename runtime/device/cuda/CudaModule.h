//===- CudaModule.h - Code loaded on a GPU -------------------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAMODULE_H

#include "device/cuda/CudaContext.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Unloads a module from its context.
struct UnloadModule {
  const CudaContext *context;
  void operator()(CUmodule module) const;
};
using CudaModule = std::unique_ptr<CUmod_st, UnloadModule>;

/// Loads a cubin, or PTX that ends with a NUL. `context` must be current and
/// must outlive the module.
absl::StatusOr<CudaModule> LoadCudaModule(const CudaContext &context, const void *image);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
