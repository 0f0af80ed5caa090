//===- GpuExchange.h - How ranks on GPUs exchange data ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_GPUEXCHANGE_H
#define CS336_RUNTIME_GPUEXCHANGE_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// The ways in which ranks on GPUs exchange data.
enum class GpuExchange : uint8_t {
  /// As kPeers if all GPUs can access each other's memory, but NCCL does what it does faster; else as kNccl.
  kAuto,
  kNccl,
  /// GPUs read and write each other's memory. NCCL runs the collectives that do not support this. FAILED_PRECONDITION
  /// if a GPU cannot access the memory of another.
  kPeers,
};

/// Returns the value of "auto", "nccl" or "peers"; INVALID_ARGUMENT for another text.
absl::StatusOr<GpuExchange> ParseGpuExchange(absl::string_view text);

/// Returns the text that ParseGpuExchange() reads.
std::string ToString(GpuExchange exchange);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_GPUEXCHANGE_H
