//===- CollectiveProgress.h - The collectives that a GPU has done *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_COLLECTIVEPROGRESS_H
#define CS336_RUNTIME_DEVICE_CUDA_COLLECTIVEPROGRESS_H

#include "cs336/runtime/DeviceMemory.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/PtxKernel.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <cuda.h>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cs336::runtime {

/// Counts the collectives that the GPU has done, in memory that the host reads
/// without a wait, and compares them with those of the runs that were enqueued.
/// Tells kernels that wait for other ranks when to give up.
class CollectiveProgress {
public:
  /// The context and the memory must outlive the object.
  static absl::StatusOr<std::unique_ptr<CollectiveProgress>> Create(const CudaContext &context, DeviceMemory &memory);

  /// Enqueues one more in the context's current stream. A graph may capture it.
  absl::Status Advance();

  /// Returns the address of the counter, a word of 64 bits.
  CUdeviceptr done_address() const { return reinterpret_cast<CUdeviceptr>(&words_->done); }

  /// Sets the word at abandoned(), which kernels read, to 1. May be called by another thread.
  void Abandon() { __atomic_store_n(&words_->abandoned, 1, __ATOMIC_RELEASE); }
  CUdeviceptr abandoned() const { return reinterpret_cast<CUdeviceptr>(&words_->abandoned); }

  using Names = std::shared_ptr<const std::vector<std::string>>;

  /// Tells that a run with collectives of these names is enqueued next. Returns
  /// the number of collectives enqueued so far.
  int64_t Expect(Names names);

  /// Returns the name of the first collective that was enqueued and is not done, or an empty text. May be called by
  /// another thread.
  std::string FindNext();

  /// Returns the name of the collective that comes next if none was done for
  /// `limit` although some were enqueued, otherwise an empty text. May be called
  /// by another thread.
  std::string FindStalled(absl::Time now, absl::Duration limit);

private:
  /// Names of a run's collectives, and the number of collectives before it.
  struct Run {
    int64_t begin;
    Names names;
    int64_t end() const { return begin + static_cast<int64_t>(names->size()); }
  };

  /// In memory of the host that the device accesses.
  struct Words {
    int64_t done;
    int64_t abandoned;
  };

  /// Returns the name of the collective after the first `count` ones, or an empty text if it was not enqueued. mutex_
  /// is held.
  std::string NameAfter(int64_t count);

  int64_t done() const { return __atomic_load_n(&words_->done, __ATOMIC_ACQUIRE); }

  MemoryBlock memory_;
  Words *words_ = nullptr;
  std::unique_ptr<PtxKernel> kernel_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Run> runs_; // Runs that may not be done.
  int64_t last_done_ = 0;
  absl::Time last_change_ = absl::InfinitePast(); // The last time of progress, or without work.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_COLLECTIVEPROGRESS_H
