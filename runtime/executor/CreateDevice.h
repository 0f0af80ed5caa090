//===- CreateDevice.h - The device of a session -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_CREATEDEVICE_H
#define CS336_RUNTIME_EXECUTOR_CREATEDEVICE_H

#include "cs336/runtime/Device.h"
#include "cs336/runtime/Session.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Creates device `id` with the given options. Returns NOT_FOUND or
/// FAILED_PRECONDITION if this machine does not have it.
absl::StatusOr<std::unique_ptr<Device>> CreateDevice(DeviceId id, const SessionOptions &options);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_CREATEDEVICE_H
