//===- CudaInputFeed.h - Inputs that come during a run ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAINPUTFEED_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAINPUTFEED_H

#include "cs336/runtime/Device.h"
#include "device/cuda/CudaMemory.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>

namespace cs336::runtime {

/// Inputs cross the bus in a stream of their own, to one of two places beside
/// the entry's inputs, while the previous run still computes; only the way
/// from there stands between two runs. `bytes` go to `inputs`.
absl::StatusOr<std::unique_ptr<InputFeed>> CreateCudaInputFeed(const CudaContext &context, CudaMemory &memory,
                                                               char *inputs, int64_t bytes);

/// Bytes that a feed allocates on the device.
int64_t CudaInputFeedBytes(int64_t bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAINPUTFEED_H
