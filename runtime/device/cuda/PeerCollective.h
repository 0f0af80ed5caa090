//===- PeerCollective.h - Collectives over peers' memory --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERCOLLECTIVE_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERCOLLECTIVE_H

#include "cs336/runtime/Device.h"
#include "cs336/runtime/GpuExchange.h"
#include "device/cuda/NcclGroup.h"
#include "device/cuda/PeerGroup.h"

#include "absl/status/statusor.h"

#include <memory>

namespace cs336::runtime {

/// Prepares a collective that reads and writes the memory of the other ranks' GPUs. All ranks call this at the same
/// time. The command enqueues its work in the context's current stream. A graph may capture it. It ends with a barrier
/// of all ranks, and begins with one unless it directly follows another such command in its stream.
///
/// - all_gather: copy engines write each rank's part to all other ranks.
/// - reduce_scatter: each rank reduces a part. Up to 8 MiB, a kernel reads it from all ranks. Copy engines exchange
///   more, in rounds that fit into the staging memory.
/// - all_reduce: the same, and the part's result is written to all ranks.
///
/// Every rank gets the bits that ranks on CPUs get: values are combined in order of ranks, in float32.
///
/// Returns null, on all ranks, for other collectives: all_to_all, broadcast, and reductions of other types than f32,
/// bf16 and f16, of operands whose addresses are not multiples of 16 bytes, or to parts whose lengths are not. If
/// `exchange` is kAuto, also for what NCCL does faster among more than two ranks: reductions of more than 8 MiB, and
/// gathers that no GEMM follows.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PreparePeerCollective(NcclGroup &group, PeerGroup &peers,
                                                                       const CommandContext &context,
                                                                       const format::CollectiveT &collective,
                                                                       GpuExchange exchange);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERCOLLECTIVE_H
