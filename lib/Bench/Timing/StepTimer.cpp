//===- StepTimer.cpp - Times of equal runs --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timing/StepTimer.h"

#include "cs336/Bench/Progress/Interruption.h"

#include <chrono>

using namespace cs336;
using namespace cs336::bench;
using Clock = std::chrono::steady_clock;

static std::vector<double> slice(llvm::ArrayRef<double> times, int64_t first, int64_t count) {
  return times.empty() ? std::vector<double>() : times.slice(first, count).vec();
}

StepTimes StepTimes::slice(int64_t first, int64_t count) const {
  return {::slice(host, first, count), ::slice(device, first, count)};
}

absl::Status bench::timeSteps(runtime::Session &session, llvm::StringRef entry,
                              llvm::ArrayRef<runtime::NamedTensor> arguments, int64_t steps,
                              llvm::function_ref<void(int64_t)> report, StepTimes &times,
                              runtime::RunObserver *observer, std::optional<int64_t> firstRecorded) {
  bool isOnGPU = session.device().kind == runtime::DeviceKind::kCuda;
  for (int64_t step = 0; step < steps; ++step) {
    if (absl::Status status = checkInterruption(); !status.ok())
      return status;
    report(step);
    if (step == firstRecorded)
      if (absl::Status status = session.StartTools(); !status.ok())
        return status;
    Clock::time_point start = Clock::now();
    absl::Status status = session.Run(entry.str(), arguments, observer);
    if (status.ok())
      status = session.Synchronize();
    if (!status.ok())
      return status;
    double host = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (isOnGPU) {
      absl::StatusOr<absl::Duration> duration = session.LastRunDuration(entry.str());
      if (!duration.ok())
        return duration.status();
      times.device.push_back(absl::ToDoubleMilliseconds(*duration));
    }
    times.host.push_back(host);
  }
  return firstRecorded ? session.StopTools() : absl::OkStatus();
}
