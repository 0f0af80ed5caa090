//===- LaunchGate.h - A run that waits for its launch -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Under CUPTI, the host enqueues the nodes of a graph more slowly. In a short
// step, the device then runs the first kernels while the host still enqueues the
// rest, and waits for the host between kernels. Without CUPTI, the step has no
// such gaps. A gate in front of the step makes the device begin only when all of
// the step is enqueued, so that the profile shows the device's own gaps.
//
// The driver queues a limited amount of work. A launch that exceeds it blocks
// until the device has done a part, which a closed gate prevents. Every gate
// therefore opens by itself after a limit, and the step runs as without a gate.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_LAUNCHGATE_H
#define CS336_RUNTIME_DEVICE_CUDA_LAUNCHGATE_H

#include "device/cuda/CudaContext.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <memory>

namespace cs336::runtime {

/// Holds back the work that is enqueued in a stream during its lifetime. The destructor opens the gate, also after a
/// launch that failed.
class LaunchGate {
public:
  /// Enqueues a wait in the context's current stream: all earlier work runs, later work waits for the gate. The device
  /// waits for at most `limit`, which begins when the earlier work is done. Work that is recorded after this, such as
  /// an event, is behind the gate. Returns the driver's error if the wait cannot be enqueued.
  static absl::StatusOr<LaunchGate> Close(const CudaContext &context, absl::Duration limit);
  LaunchGate(LaunchGate &&) = default;
  LaunchGate &operator=(LaunchGate &&) = delete;
  ~LaunchGate();

private:
  class State;
  explicit LaunchGate(std::shared_ptr<State> state);

  std::shared_ptr<State> state_; // Also held by the enqueued wait. Null after a move.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_LAUNCHGATE_H
