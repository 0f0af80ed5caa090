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

/// Milliseconds of runs, one by one.
struct StepTimes {
  /// By the host's clock: inputs, the launch of the run, and waiting for its end.
  std::vector<double> host;
  /// On a GPU, by its own: from the first command of the run to the end of its last. Empty elsewhere.
  std::vector<double> device;

  /// By the clock of the device that ran the steps.
  const std::vector<double> &getOwnTimes() const { return device.empty() ? host : device; }
  /// Those of `count` steps from step `first` on, which are there.
  StepTimes slice(int64_t first, int64_t count) const;
};

/// Runs `steps` steps, one after the other, and appends their times to `times`, which keeps those before a failure.
/// CANCELLED once this program is asked to stop. `report` gets each step's number when it begins. `observer` may be
/// null. Tools record the steps from number `firstRecorded` on, if there is one (Session::StartTools).
absl::Status timeSteps(runtime::Session &session, llvm::StringRef entry, llvm::ArrayRef<runtime::NamedTensor> arguments,
                       int64_t steps, llvm::function_ref<void(int64_t)> report, StepTimes &times,
                       runtime::RunObserver *observer = nullptr, std::optional<int64_t> firstRecorded = std::nullopt);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_STEPTIMER_H
