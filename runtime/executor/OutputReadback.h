//===- OutputReadback.h - Small outputs, read without waiting ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_EXECUTOR_OUTPUTREADBACK_H
#define CS336_RUNTIME_EXECUTOR_OUTPUTREADBACK_H

#include "cs336/runtime/Device.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace cs336::runtime {

/// Copies an entry's small outputs (a loss, a norm) to the host as part of each
/// run, and keeps those of the last two runs. A program can read one step's
/// loss while the device computes the next step.
class OutputReadback {
public:
  /// Larger outputs are copied on request.
  static constexpr int64_t kMostBytes = 4096;

  /// `outputs` are views of device memory, of any size.
  static absl::StatusOr<OutputReadback> Create(Device &device, std::vector<TensorView> outputs);

  /// Enqueues the copies. Called after the commands of a run.
  absl::Status Enqueue(Device &device);

  /// Returns true if Find() has output `index` of the last run.
  bool Holds(size_t index) const { return runs_ > 0 && places_[index].offset >= 0; }

  /// Returns output `index` of the last run (`runs_ago` 0) or of the run before
  /// it (1). Waits for that run only. Returns NOT_FOUND if the output is not
  /// small, FAILED_PRECONDITION if there was no such run.
  absl::StatusOr<TensorView> Find(size_t index, int runs_ago);

private:
  struct Place {
    TensorView output;
    int64_t offset = -1; // Offset in a slot; -1 if the output is not small.
    int64_t bytes = 0;
  };
  struct Slot {
    MemoryBlock block;
    std::unique_ptr<DeviceMark> copied;
  };

  std::vector<Place> places_;
  std::array<Slot, 2> slots_;
  int64_t runs_ = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_EXECUTOR_OUTPUTREADBACK_H
