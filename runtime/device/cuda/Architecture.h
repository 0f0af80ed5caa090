//===- Architecture.h - Which machine code runs where -----------*- C++ -*-===//
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

/// Whether a device runs machine code for `target`: "sm_86" runs on 8.6 and
/// later minor versions of 8, "sm_90a" on 9.0 alone, "sm_100f" on 10.0 and
/// later minor versions of 10. What is none of these runs nowhere.
bool RunsOn(absl::string_view target, ComputeCapability device);

/// Which of the targets, by position, to take for a device: what is for it
/// alone, or else for the nearest version. None if none runs there.
absl::optional<size_t> ChooseTarget(absl::Span<const std::string> targets, ComputeCapability device);

/// The target to compile for, to run on that device: "sm_90a".
std::string TargetFor(ComputeCapability device);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_ARCHITECTURE_H
