//===- StepTimer.cpp - Times of equal runs --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepTimer.h"

#include "Interruption.h"

#include <chrono>

using namespace cs336;
using namespace cs336::bench;
using Clock = std::chrono::steady_clock;

absl::StatusOr<StepTimes> bench::timeSteps(runtime::Session &session, llvm::StringRef entry,
                                           llvm::ArrayRef<runtime::NamedTensor> arguments, int64_t warmup,
                                           int64_t steps, llvm::function_ref<void(bool, double)> report) {
  StepTimes times;
  bool isOnGPU = session.device().kind == runtime::DeviceKind::kCuda;
  for (int64_t step = 0; step < warmup + steps; ++step) {
    if (absl::Status status = checkInterruption(); !status.ok())
      return status;
    bool isTimed = step >= warmup;
    report(isTimed, static_cast<double>(step) / static_cast<double>(warmup + steps));
    Clock::time_point start = Clock::now();
    absl::Status status = session.Run(entry.str(), arguments);
    if (status.ok())
      status = session.Synchronize();
    if (!status.ok())
      return status;
    if (!isTimed)
      continue;
    times.host.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (!isOnGPU)
      continue;
    absl::StatusOr<absl::Duration> duration = session.LastRunDuration(entry.str());
    if (!duration.ok())
      return duration.status();
    times.device.push_back(absl::ToDoubleMilliseconds(*duration));
  }
  return times;
}
