//===- TensorMaps.h - Encoded tensor maps ---------------------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_TENSORMAPS_H
#define CS336_RUNTIME_DEVICE_CUDA_TENSORMAPS_H

#include "cs336/runtime/Executable.h"
#include "device/cuda/DriverApi.h"

#include "absl/status/statusor.h"

namespace cs336::runtime {

/// Encodes a map, which has been verified, of the operand at `address` on the
/// device. Returns the driver's error with the whole map if the driver rejects
/// it.
absl::StatusOr<CUtensorMap> EncodeTensorMap(const DriverApi &driver, const format::TensorMapT &map, void *address);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_TENSORMAPS_H
