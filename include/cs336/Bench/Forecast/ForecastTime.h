//===- ForecastTime.h - Time from FLOPs -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_FORECAST_FORECASTTIME_H
#define CS336_BENCH_FORECAST_FORECASTTIME_H

#include "cs336/Bench/Forecast/Forecast.h"
#include "cs336/Bench/Forecast/PeakRate.h"

namespace cs336::bench {

/// One task of a sweep: the FLOPs of all its runs, and the seconds of everything else, such as compiling.
struct TaskWork {
  double flops = 0, otherSeconds = 0;
  BuildType buildType = BuildType::F32;
  ComputeType computeType = ComputeType::FP32;
};

/// Sets the forecast's time. The time of a task is its FLOPs, divided by a share of the rate of a GEMM in its type,
/// plus its other seconds. A GEMM is timed, once per type, only if the FLOPs are so many that its rate changes the
/// forecast; otherwise the rate of a slow device is assumed. If a GEMM cannot be timed because the GPU is missing, the
/// time stays unknown.
void forecastTime(llvm::ArrayRef<TaskWork> tasks, PeakRates &rates, Forecast &forecast);

} // namespace cs336::bench

#endif // CS336_BENCH_FORECAST_FORECASTTIME_H
