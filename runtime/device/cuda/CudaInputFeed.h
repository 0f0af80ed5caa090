//===- CudaInputFeed.h - Inputs copied during a run -------------*- C++ -*-===//
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

/// Copies inputs over the bus in a stream of their own, to one of the slots
/// beside the entry's inputs (format::kInputSlots), while the previous run still
/// computes. Only the copy from the slot to the inputs runs between two runs.
/// `bytes` bytes go to `inputs`.
absl::StatusOr<std::unique_ptr<InputFeed>> CreateCudaInputFeed(const CudaContext &context, CudaMemory &memory,
                                                               char *inputs, int64_t bytes);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAINPUTFEED_H
