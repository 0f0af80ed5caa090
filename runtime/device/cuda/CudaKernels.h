//===- CudaKernels.h - An executable's kernels on a GPU ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H

#include "cs336/runtime/Executable.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaModule.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cs336::runtime {

/// A grid to launch. Its parameters are pointers and then tensor maps.
struct CudaFunction {
  CUfunction handle = nullptr;
  /// Blocks come in clusters of `cluster`.
  unsigned blocks = 0, threads = 0, shared_bytes = 0, cluster = 1;
  std::string symbol;
  std::vector<format::TensorMapT> tensor_maps;
};

/// The grids of one launch.
struct CudaKernel {
  std::vector<CudaFunction> functions; // In order.
  bool uses_workspace = false;         // Its address is the last pointer.
};

/// An executable's kernels, loaded on one device.
class CudaKernels {
public:
  /// Loads the implementation of each kernel whose code fits the device best. The context must
  /// outlive the kernels. Returns FAILED_PRECONDITION if a kernel has no code
  /// that fits, or needs larger blocks than the device supports; DATA_LOSS if
  /// its code is damaged.
  static absl::StatusOr<CudaKernels> Load(const Executable &executable, const CudaContext &context);

  const CudaKernel &kernel(size_t index) const { return kernels_[index]; }

private:
  absl::StatusOr<CUmodule> LoadModule(const format::CodeObjectT &object, uint32_t index, const CudaContext &context);

  std::map<uint32_t, CudaModule> modules_; // Keyed by code object.
  std::vector<CudaKernel> kernels_;        // In the executable's order.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAKERNELS_H
