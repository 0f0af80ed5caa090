//===- NcclGroup.h - A rank's end of a group of GPUs ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_NCCLGROUP_H
#define CS336_RUNTIME_DEVICE_CUDA_NCCLGROUP_H

#include "comm/TimeLimits.h"
#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DeviceMemory.h"
#include "device/cuda/CollectiveProgress.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/NcclApi.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cs336::runtime {

/// A rank's end of a group of GPUs, which NCCL connects if a collective needs
/// it. The group of a Communicator, whose ranks are threads or processes, tells
/// the ranks how to meet, and learns of each other's failure.
///
/// NCCL's communicator does not block. When the group fails, a thread aborts it,
/// which ends the collectives that run, and tells the kernels that wait for
/// other ranks to end. If they do not end, a wait gives up the device (see
/// WorkMonitor).
class NcclGroup : public WorkMonitor {
public:
  /// Begins to watch the group of the ranks. The context must outlive the group,
  /// and graphs that contain its work must be destroyed before it.
  NcclGroup(const CudaContext &context, std::shared_ptr<Communicator> ranks);
  /// Leaves the group, after all ranks have done their work.
  ~NcclGroup() override;

  int rank() const { return ranks_->rank(); }
  int size() const { return ranks_->size(); }
  const NcclApi &api() const { return *api_; }
  Communicator &ranks() const { return *ranks_; }

  /// Connects the GPUs of all ranks through NCCL, at the first call. All ranks
  /// call this at the same time. NCCL then uses memory of the GPU. Errors: those
  /// of NcclApi::Load(), and the failure of the group.
  absl::Status Connect();

  /// Calls `enqueue` with the communicator, as one group of NCCL's calls, and
  /// waits until the calls are enqueued. `call` names them in errors. Connect()
  /// must have succeeded.
  absl::Status Enqueue(const char *call, absl::FunctionRef<int(nccl::Comm)> enqueue);

  /// Counts the collectives that the device does, so that a rank that waits for
  /// another one for too long (see TimeLimits) ends the group. Called once,
  /// before the first collective is enqueued.
  absl::Status CountCollectives(DeviceMemory &memory);
  /// Ends that, before the memory is destroyed.
  void StopCounting();
  /// Enqueues, in the context's current stream, what counts one more.
  absl::Status Advance() { return progress_ ? progress_->Advance() : absl::OkStatus(); }
  /// Returns the address of the counter, or 0 outside that time. A kernel in the collectives' stream may add 1 instead.
  CUdeviceptr done() const { return progress_ ? progress_->done_address() : 0; }
  /// Returns the address of a word of 64 bits that is set to 1 when the group fails. Valid between CountCollectives()
  /// and StopCounting().
  CUdeviceptr abandoned() const { return progress_->abandoned(); }
  /// Tells that a run with these collectives is enqueued next.
  void Expect(const CollectiveProgress::Names &names);

  absl::Status Failure() const override;
  bool ShouldGiveUp() const override;

private:
  /// State that the thread that aborts the communicator shares with the group.
  struct Watch {
    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    absl::Status failure;
    absl::Time failed_at;
    bool is_over = false;                         // The group leaves.
    std::shared_ptr<const NcclApi> api;           // Null until NCCL connects the GPUs.
    nccl::Comm comm = nullptr;                    // Null until then, and once it is aborted or destroyed.
    bool has_ended = false;                       // The thread has nothing more to do.
    std::shared_ptr<CollectiveProgress> progress; // Null until collectives are counted.
  };

  absl::Status Load();
  absl::StatusOr<nccl::UniqueId> ShareId();
  /// Waits until the communicator has done what a call has begun. The caller
  /// holds the mutex of the watch.
  absl::Status SettleLocked(int result, const char *call);
  /// Waits until the group fails or is left, looks for collectives that do not
  /// end, and aborts the communicator of a group that fails.
  static void WatchFor(const std::shared_ptr<Watch> &watch, const std::shared_ptr<Communicator> &ranks);

  const CudaContext &context_;
  std::shared_ptr<Communicator> ranks_;
  TimeLimits limits_;
  std::shared_ptr<const NcclApi> api_; // Null until NCCL connects the GPUs.
  std::shared_ptr<CollectiveProgress> progress_;
  std::shared_ptr<Watch> watch_;
  std::thread thread_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_NCCLGROUP_H
