//===- CudaGraph.h - Many commands in one launch ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H

#include "cs336/runtime/Device.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/FillNodes.h"
#include "device/cuda/StreamSequence.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Captures the commands into a CUDA graph without running them, and returns a
/// command that launches it in the main stream. The first node records `begin`,
/// the last one `end`. The commands' memory and kernels must outlive it, and so
/// must the events.
absl::StatusOr<std::unique_ptr<PreparedCommand>> CaptureGraph(const CudaContext &context, const PtxKernel &fill,
                                                              StreamSequence sequence, CudaEvent &begin,
                                                              CudaEvent &end);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
