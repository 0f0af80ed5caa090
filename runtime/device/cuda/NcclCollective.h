//===- NcclCollective.h - Collectives between GPUs --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_NCCLCOLLECTIVE_H
#define CS336_RUNTIME_DEVICE_CUDA_NCCLCOLLECTIVE_H

#include "cs336/runtime/Device.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/NcclGroup.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <memory>

namespace cs336::runtime {

/// Prepares a collective of the group. The command enqueues all operands at once
/// in the context's current stream. A graph may capture it. NCCL sums bf16 and f16 in f32. Two ranks get the bits
/// that ranks on CPUs get; more ranks may be added in another order.
///
/// Sources of all_to_all whose parts are columns are copied to further memory first. NcclGroup::Connect() must have
/// succeeded. Returns UNIMPLEMENTED for reductions that NCCL does not have.
absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareNcclCollective(const CudaContext &context, NcclGroup &group,
                                                                       DeviceMemory &memory,
                                                                       absl::Span<const MutableTensorView> buffers,
                                                                       const format::CollectiveT &collective);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_NCCLCOLLECTIVE_H
