//===- CheckBoundCommand.h - Integers checked on a GPU ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CHECKBOUNDCOMMAND_H
#define CS336_RUNTIME_DEVICE_CUDA_CHECKBOUNDCOMMAND_H

#include "cs336/runtime/Device.h"
#include "device/cuda/CudaMemory.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Copies integers, with 0 in place of those that are out of bounds. The first
/// of these is the command's Outcome(): the device writes it to host memory, so
/// that a run without errors needs neither a copy nor a wait. Context and
/// memory must outlive the command.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCudaCheckBound(const CudaContext &cuda, CudaMemory &memory,
                                                                       const CommandContext &context,
                                                                       const format::CheckBoundT &check);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CHECKBOUNDCOMMAND_H
