//===- PlanForecast.h - The expected time of planning -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PLANFORECAST_H
#define CS336_BENCH_PLAN_PLANFORECAST_H

#include "cs336/Bench/Forecast/Forecast.h"
#include "cs336/Frontend/ModelDescription.h"
#include "llvm/ADT/ArrayRef.h"

namespace cs336::bench {

/// The flags of `plan` that plan a model several times.
struct PlanSearches {
  /// `--memory-limit` looks for changes that fit, `--memory-budget` for the least recomputation.
  bool hasLimit = false, hasBudget = false;
  /// `--best-checkpoint` plans every number of layers.
  bool hasBestCheckpoint = false;
};

/// Forecasts the plans of every description with every one of `pipelines` pipelines. A plan takes no memory of a
/// device.
Forecast forecastPlans(llvm::ArrayRef<ModelDescription> descriptions, size_t pipelines, const PlanSearches &searches);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PLANFORECAST_H
