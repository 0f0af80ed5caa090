//===- CudaLaunch.h - Launches of a program's kernels ---------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDALAUNCH_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDALAUNCH_H

#include "cs336/runtime/Device.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaKernels.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <memory>

namespace cs336::runtime {

/// Prepares a launch of the kernel's functions, in order. `operands` are the
/// addresses on the device of the operands and of the workspace, if the kernel
/// uses one. Tensor maps are encoded with these addresses now, once for all
/// runs. A graph may capture the command.
///
/// Returns DATA_LOSS if a function has other parameters, and the driver's error
/// if it rejects a tensor map. The context and the kernel must outlive the
/// command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCudaLaunch(const CudaContext &context, const CudaKernel &kernel,
                                                                   absl::Span<void *const> operands);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDALAUNCH_H
