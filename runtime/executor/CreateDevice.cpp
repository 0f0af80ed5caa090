//===- CreateDevice.cpp - The device of a session -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/CreateDevice.h"

#include "device/cpu/CpuDevice.h"
#include "device/cuda/CudaDevice.h"

namespace cs336::runtime {

absl::StatusOr<std::unique_ptr<Device>> CreateDevice(DeviceId id, const SessionOptions &options) {
  if (id.kind == DeviceKind::kCuda)
    return CudaDevice::Create(id.ordinal, options.communicator, options.use_graphs, options.exchange);
  return std::make_unique<CpuDevice>(options.communicator);
}

} // namespace cs336::runtime
