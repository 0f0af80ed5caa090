//===- StepTimer.h - Times of equal runs ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMING_STEPTIMER_H
#define CS336_BENCH_TIMING_STEPTIMER_H

#include "cs336/runtime/Session.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace cs336::bench {

/// The milliseconds of each run.
struct StepTimes {
  /// Times by the host's clock: inputs, the launch of the run, and waiting for its end.
  std::vector<double> host;
  /// Times by the GPU's clock: from the first command of the run to the end of its last. Empty on the CPU.
  std::vector<double> device;

  /// Returns the times by the clock of the device that ran the steps.
  const std::vector<double> &getOwnTimes() const { return device.empty() ? host : device; }
  /// Returns the times of `count` steps from step `first` on. These steps must exist.
  StepTimes slice(int64_t first, int64_t count) const;
};

/// Runs `steps` steps, one after the other, and appends their times to `times`. After a failure, `times` has the times
/// of the steps before it. Returns CANCELLED if this program is asked to stop. `report` gets each step's number when it
/// begins. `observer` may be null. If `firstRecorded` has a value, tools record the steps from this number on
/// (Session::StartTools).
absl::Status timeSteps(runtime::Session &session, llvm::StringRef entry, llvm::ArrayRef<runtime::NamedTensor> arguments,
                       int64_t steps, llvm::function_ref<void(int64_t)> report, StepTimes &times,
                       runtime::RunObserver *observer = nullptr, std::optional<int64_t> firstRecorded = std::nullopt);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_STEPTIMER_H
