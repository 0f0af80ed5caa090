//===- PeerMemory.h - Memory of the other ranks' GPUs -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERMEMORY_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERMEMORY_H

#include "cs336/runtime/Communicator.h"
#include "device/cuda/CudaContext.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <cuda.h>
#include <map>
#include <utility>
#include <vector>

namespace cs336::runtime {

/// Makes memory of the other ranks' GPUs accessible to this rank's GPU. The ranks are threads or processes of one host.
class PeerMemory {
public:
  /// The arguments must outlive the object.
  PeerMemory(const CudaContext &context, Communicator &ranks) : context_(context), ranks_(ranks) {}
  ~PeerMemory();
  PeerMemory(const PeerMemory &) = delete;
  PeerMemory &operator=(const PeerMemory &) = delete;

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }

  /// Addresses at which this rank's GPU accesses what the ranks have shared, by rank and by position in the call.
  using Addresses = std::vector<std::vector<CUdeviceptr>>;

  /// Shares addresses in memory that CudaMemory allocated, which may be freed after all ranks have done their work. All
  /// ranks call this at the same time, with as many addresses. Returns FAILED_PRECONDITION on all ranks if the GPU of
  /// some rank cannot access the memory of another one, or the failure of the group.
  absl::StatusOr<Addresses> Share(absl::Span<const void *const> addresses);

private:
  /// An address as a rank describes it to the others.
  struct Place;
  absl::StatusOr<Place> Describe(const void *address) const;
  /// Returns the address at which this rank's GPU accesses another rank's place.
  absl::StatusOr<CUdeviceptr> Reach(int rank, const Place &place);
  absl::StatusOr<Addresses> Reach(absl::Span<const Place> places);

  const CudaContext &context_;
  Communicator &ranks_;
  std::map<std::pair<int, CUdeviceptr>, CUdeviceptr> opened_; // Allocations here, by their rank and address there.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERMEMORY_H
