//===- CudaEvent.h - A point in a stream's work -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUDAEVENT_H
#define CS336_RUNTIME_DEVICE_CUDA_CUDAEVENT_H

#include "device/cuda/CudaContext.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cs336::runtime {

/// A point in the work of a stream. Its calls set the context that they need.
class CudaEvent {
public:
  static absl::StatusOr<CudaEvent> Create(const CudaContext &context);
  CudaEvent() = default;
  CudaEvent(CudaEvent &&other) noexcept { *this = std::move(other); }
  CudaEvent &operator=(CudaEvent &&other) noexcept {
    std::swap(context_, other.context_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~CudaEvent();

  absl::Status Record(CUstream stream);
  /// Adds a node to the graph that `stream` captures, which records the event
  /// whenever the graph runs.
  absl::Status RecordInGraph(CUstream stream);
  /// Waits on the host. Returns at once if the event was never recorded.
  absl::Status Synchronize() const;
  /// Makes later work in `stream` wait for the event.
  absl::Status Block(CUstream stream) const;
  /// Returns the time between two events that have both completed.
  absl::StatusOr<absl::Duration> Since(const CudaEvent &start) const;

private:
  const CudaContext *context_ = nullptr;
  CUevent event_ = nullptr;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUDAEVENT_H
