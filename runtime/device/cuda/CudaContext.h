//===- CudaContext.h - One device and the streams of its work ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "cs336/runtime/CudaInfo.h"
#include "device/cuda/DriverApi.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// Finds work that cannot complete, such as an exchange with a rank that has
/// failed.
class WorkMonitor {
public:
  virtual ~WorkMonitor();
  /// Returns the reason why results are not valid, or OK.
  virtual absl::Status Failure() const = 0;
  /// Returns true if a wait for the device should end although the device is
  /// not done, some time after a failure.
  virtual bool ShouldGiveUp() const = 0;
};

/// The primary context of a device and streams of our own. Work is enqueued in
/// the current stream, which is the main one except in a StreamScope. Other CUDA
/// code of the process shares this context, so that addresses can be exchanged.
class CudaContext {
public:
  /// Starts the device. Returns the errors of QueryCuda, NOT_FOUND if there is
  /// no device of that ordinal, or the driver's error if the device does not
  /// start.
  static absl::StatusOr<std::unique_ptr<CudaContext>> Create(int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const DriverApi &driver() const { return *driver_; }
  CUcontext context() const { return context_; }
  /// The current stream. No stream is synchronized with the legacy default one.
  CUstream stream() const { return current_; }
  /// Returns the stream with a number of the executable. 0 is the main stream.
  /// Others are created when they are first requested.
  absl::StatusOr<CUstream> NumberedStream(int64_t number) const;
  /// Creates a stream that lives as long as the context. It has the highest
  /// priority, so that what it runs starts beside long kernels.
  absl::StatusOr<CUstream> AddStream() const;

  /// Waits for the work of the main stream, or for an event, and returns the
  /// first error. With a monitor, returns its failure although the device may be
  /// done, and gives up the device if the monitor says so.
  absl::Status WaitForStream() const;
  absl::Status WaitForEvent(CUevent event) const;
  /// Sets the monitor, or none for null. It must outlive the waits.
  void SetMonitor(const WorkMonitor *monitor) { monitor_ = monitor; }
  /// Gives up the device: its work may never end, or a thread of a library may still use it. Memory, streams and the
  /// context are left to the end of the process, which then runs no destructors.
  void GiveUp() const;
  /// True once the device was given up. Releasing what it uses could wait forever.
  bool is_lost() const { return is_lost_; }
  int ordinal() const { return ordinal_; }
  const std::string &name() const { return name_; } // "NVIDIA H200"
  ComputeCapability compute_capability() const { return compute_capability_; }
  /// Returns the most shared memory, static and dynamic, that a block can have.
  int64_t shared_bytes_per_block() const { return shared_bytes_per_block_; }
  int driver_version() const { return driver_->version(); } // 13000 is 13.0.
  /// Returns text such as "cuda:0 (NVIDIA H200)".
  std::string Description() const;

private:
  explicit CudaContext(std::shared_ptr<const DriverApi> driver) : driver_(std::move(driver)) {}
  friend class StreamScope;

  absl::Status Start();
  template <typename Query>
  absl::Status Wait(const Query &query) const;

  std::shared_ptr<const DriverApi> driver_;
  int ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream main_ = nullptr;
  mutable CUstream current_ = nullptr;
  mutable std::map<int64_t, CUstream> numbered_; // Other streams of the executable, by number.
  mutable std::vector<CUstream> added_;          // All streams but the main one.
  const WorkMonitor *monitor_ = nullptr;
  mutable bool is_lost_ = false;
  std::string name_;
  ComputeCapability compute_capability_;
  int shared_bytes_per_block_ = 0;
};

/// Makes a stream the current one of its context while the scope lives.
class StreamScope {
public:
  StreamScope(const CudaContext &context, CUstream stream) : context_(context), outer_(context.current_) {
    context.current_ = stream;
  }
  ~StreamScope() { context_.current_ = outer_; }
  StreamScope(const StreamScope &) = delete;
  StreamScope &operator=(const StreamScope &) = delete;

private:
  const CudaContext &context_;
  CUstream outer_;
};

/// Makes a context the current one of this thread, which most driver calls
/// require, and restores the previous one: other CUDA code of the process may
/// use another device.
class CurrentContext {
public:
  explicit CurrentContext(const CudaContext &context) : context_(context) {
    status_ = context.driver().CtxPushCurrent(context.context());
  }
  ~CurrentContext() {
    CUcontext popped;
    if (status_.ok())
      context_.driver().CtxPopCurrent(&popped).IgnoreError();
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  const absl::Status &status() const { return status_; }

private:
  const CudaContext &context_;
  absl::Status status_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
