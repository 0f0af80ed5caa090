//===- CudaContext.h - One device and the stream of its work ----*- C++ -*-===//
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

#include <memory>
#include <string>

namespace cs336::runtime {

/// The primary context of a device and a stream of our own, in which all work
/// is enqueued in order. Other CUDA code of the process shares this context, so
/// that addresses can be exchanged.
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
  /// A stream that is not synchronized with the legacy default stream.
  CUstream stream() const { return stream_; }
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
  absl::Status Start();

  std::shared_ptr<const DriverApi> driver_;
  int ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::string name_;
  ComputeCapability compute_capability_;
  int shared_bytes_per_block_ = 0;
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
