//===- Architecture.h - The machine code that a GPU runs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_ARCHITECTURE_H
#define CS336_RUNTIME_DEVICE_CUDA_ARCHITECTURE_H

#include "cs336/runtime/CudaInfo.h"

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

#include <cstddef>
#include <string>

namespace cs336::runtime {

/// Returns true if a device runs machine code for `target`: "sm_86" runs on 8.6
/// and later minor versions of 8, "sm_90a" on 9.0 only, "sm_100f" on 10.0 and
/// later minor versions of 10. Targets of another form run nowhere.
bool RunsOn(absl::string_view target, ComputeCapability device);

/// Returns the position of the best target for a device: one for this device
/// only, else the one with the nearest version. Returns nullopt if the device
/// runs none of them.
absl::optional<size_t> ChooseTarget(absl::Span<const std::string> targets, ComputeCapability device);

/// Returns the target to compile for, such as "sm_90a".
std::string TargetFor(ComputeCapability device);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_ARCHITECTURE_H
