//===- ForecastTime.cpp - Time from FLOPs ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Forecast/ForecastTime.h"

#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace cs336::bench;

/// Models reach 0.55 to 1 of a GEMM's rate on a CPU, and about half of it on an H200.
static constexpr double kShareOfGemm = 0.6;
/// FLOP/s of a laptop's two cores, and of a small GPU.
static constexpr double kSlowCPU = 2e10, kSlowGPU = 2e12;
/// Seconds of work at a slow rate up to which the device's rate is not measured.
static constexpr double kNotWorthMeasuring = 5;

static double getTotalFlops(llvm::ArrayRef<TaskWork> tasks) {
  double total = 0;
  for (const TaskWork &task : tasks)
    total += task.flops;
  return total;
}

void cs336::bench::forecastTime(llvm::ArrayRef<TaskWork> tasks, PeakRates &rates, Forecast &forecast) {
  double total = getTotalFlops(tasks), slow = rates.isOnGPU() ? kSlowGPU : kSlowCPU;
  bool isMeasured = total / slow > kNotWorthMeasuring;
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  std::vector<double> seconds;
  for (const TaskWork &task : tasks) {
    double rate = slow;
    if (isMeasured) {
      absl::StatusOr<double> gemm = rates.get(task.buildType, task.computeType);
      if (!gemm.ok()) {
        forecast.timeBasis = "unknown: " + std::string(gemm.status().message());
        return;
      }
      rate = *gemm * kShareOfGemm;
    }
    slowest = std::min(slowest, rate);
    fastest = std::max(fastest, rate);
    seconds.push_back(task.flops / rate + task.otherSeconds);
  }
  forecast.taskSeconds = std::move(seconds);
  std::string range = llvm::formatv("{0:f0}", slowest / 1e9);
  if (fastest > slowest)
    range += llvm::formatv(" to {0:f0}", fastest / 1e9);
  forecast.timeBasis = llvm::formatv(
      "{0:f2} TFLOP at {1} GFLOP/s ({2}), and what compiling and starting usually take", total / 1e12, range,
      isMeasured ? llvm::formatv("{0} of a GEMM's rate, measured now", kShareOfGemm).str()
                 : std::string("a slow device's rate"));
}
