//===- HostCopy.h - Tensors between a device and the host -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_HOSTCOPY_H
#define CS336_RUNTIME_EXECUTOR_HOSTCOPY_H

#include "cs336/runtime/DeviceMemory.h"
#include "cs336/runtime/Storage.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>

namespace cs336::runtime {

/// Returns the bytes from a view's first element to its last.
int64_t ExtentBytes(const TensorView &view);

/// Returns INVALID_ARGUMENT if a value in device memory is not dense and
/// row-major.
absl::Status CheckIsDense(const TensorView &value);

/// Copies a host tensor of any layout to dense memory of a device.
absl::Status CopyToDevice(DeviceMemory &memory, const TensorView &host, const MutableTensorView &target);

/// Returns a dense copy of dense device memory.
absl::StatusOr<Tensor> CopyFromDevice(DeviceMemory &memory, const TensorView &source);

/// Makes a device tensor readable by the host: returns it unchanged if it is in
/// host memory, otherwise a copy of the same layout in `copy`, which grows if
/// needed.
absl::StatusOr<TensorView> ViewOnHost(DeviceMemory &memory, const TensorView &source, Storage &copy);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_HOSTCOPY_H
