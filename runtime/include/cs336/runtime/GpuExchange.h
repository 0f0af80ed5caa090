//===- GpuExchange.h - How ranks on GPUs exchange data ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_GPUEXCHANGE_H
#define CS336_RUNTIME_GPUEXCHANGE_H

#include <cstdint>

namespace cs336::runtime {

/// The ways in which ranks on GPUs exchange data.
enum class GpuExchange : uint8_t {
  /// kPeers if all GPUs of the group can access each other's memory, else kNccl.
  kAuto,
  kNccl,
  /// GPUs read and write each other's memory; NCCL does what they cannot. FAILED_PRECONDITION if they have no access.
  kPeers,
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_GPUEXCHANGE_H
