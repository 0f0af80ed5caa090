//===- PeerGroup.h - Ranks whose GPUs access each other's memory *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERGROUP_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERGROUP_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DeviceMemory.h"
#include "cs336/runtime/Executable.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/PeerMemory.h"
#include "device/cuda/PeerSequence.h"
#include "device/cuda/PtxKernel.h"
#include "device/cuda/StreamFork.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"

#include <cstdint>
#include <cuda.h>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace cs336::runtime {

/// A rank's end of a group of GPUs that access each other's memory. Kernels and copies of one GPU read and write the
/// memory of the others; barriers in between order them.
class PeerGroup {
public:
  /// Connects the GPUs of all ranks, which call this at the same time. Returns FAILED_PRECONDITION on all ranks if some
  /// GPU cannot access another one's memory, or is older than compute capability 8.0. `abandoned` is the address of a
  /// word of 64 bits that the host sets when the group has failed. The arguments must outlive the group.
  static absl::StatusOr<std::unique_ptr<PeerGroup>> Connect(const CudaContext &context, Communicator &ranks,
                                                            DeviceMemory &memory, CUdeviceptr abandoned);

  int rank() const { return peers_.rank(); }
  int size() const { return peers_.size(); }
  const CudaContext &context() const { return context_; }
  PeerMemory &peers() { return peers_; }
  DeviceMemory &memory() { return memory_; }
  /// Returns the address of a word of the device that is set once a barrier has given up.
  CUdeviceptr abandoned() const { return reinterpret_cast<CUdeviceptr>(signals_.data()); }

  /// Returns true for the first stream that is asked for. The collectives of other streams must not use this group:
  /// they would share its staging memory at the same time.
  bool TakesStream(int64_t stream) {
    if (!stream_)
      stream_ = stream;
    return *stream_ == stream;
  }
  /// Reserves a barrier: a number, which is the same on all ranks if they reserve in the same order. Returns nullopt if
  /// none is left.
  absl::optional<int64_t> ReserveBarrier();
  /// Enqueues, in the context's current stream, a wait for all ranks to reach the barrier. It can be used any number of
  /// times, in the same order on all ranks. Then adds 1 to the word of 64 bits at `done`, unless that is 0.
  absl::Status Synchronise(int64_t barrier, CUdeviceptr done) const;

  /// Returns the collectives of this group that have been prepared. Each of them ends with a barrier.
  PeerSequence &sequence() { return sequence_; }

  /// The memory of each rank to which the other ranks write what it reduces.
  static constexpr int64_t kStagingBytes = int64_t{64} << 20;
  /// Allocates and shares it at the first call. Returns its address on each rank. All ranks call this at the same time.
  absl::StatusOr<std::vector<CUdeviceptr>> ShareStaging();

  /// Returns the two streams in which the copies of gathers run, and in the first one those of staged reductions. They
  /// are created at the first call. Collectives use them one after the other.
  absl::StatusOr<StreamFork *> ForkCopies();

  /// Returns the kernel of ReduceText(), which lives as long as the group.
  absl::StatusOr<const PtxKernel *> FindReduction(DType dtype, Reduction reduction);

private:
  PeerGroup(const CudaContext &context, Communicator &ranks, DeviceMemory &memory, CUdeviceptr abandoned)
      : context_(context), memory_(memory), abandoned_(abandoned), peers_(context, ranks) {}
  absl::Status Prepare();
  int64_t BarrierBytes() const { return (size() + 1) * static_cast<int64_t>(sizeof(int64_t)); }
  /// Returns the offset of a barrier in each rank's signals, after the word that is set once one has given up.
  int64_t BarrierOffset(int64_t barrier) const {
    return static_cast<int64_t>(sizeof(int64_t)) + barrier * BarrierBytes();
  }

  const CudaContext &context_;
  DeviceMemory &memory_;
  CUdeviceptr abandoned_;
  MemoryBlock signals_;   // Barriers of this rank, which the others write to.
  MemoryBlock addresses_; // The addresses of all ranks' signals.
  MemoryBlock staging_;
  std::vector<CUdeviceptr> staging_addresses_; // By rank; empty until staging memory is needed.
  PeerMemory peers_;
  absl::optional<int64_t> stream_;
  absl::optional<StreamFork> copies_;
  PeerSequence sequence_;
  int64_t reserved_ = 0;
  std::unique_ptr<PtxKernel> synchronise_;
  std::map<std::pair<DType, Reduction>, std::unique_ptr<PtxKernel>> reductions_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERGROUP_H
