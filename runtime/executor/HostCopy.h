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

/// Bytes from a view's first element to its last.
int64_t ExtentBytes(const TensorView &view);

/// INVALID_ARGUMENT if a value in a device's memory has gaps or another order.
absl::Status CheckIsDense(const TensorView &value);

/// Copies a host tensor of any layout to dense memory of a device.
absl::Status CopyToDevice(DeviceMemory &memory, const TensorView &host, const MutableTensorView &target);

/// A dense copy of dense memory of a device.
absl::StatusOr<Tensor> CopyFromDevice(DeviceMemory &memory, const TensorView &source);

/// Shows a tensor of a device to the host: as it lies if that is host memory,
/// otherwise a copy of the same layout in `copy`, which grows if it must.
absl::StatusOr<TensorView> ViewOnHost(DeviceMemory &memory, const TensorView &source, Storage &copy);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_HOSTCOPY_H
