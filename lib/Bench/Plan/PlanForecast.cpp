//===- PlanForecast.cpp - The expected time of planning -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PlanForecast.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

/// Measured for training steps of xl and 2.7B on one core.
static constexpr double kSecondsPerLayer = 0.008;
/// The usual number of plans of a search for a share of recomputation, a batch or a context.
static constexpr int64_t kPlansOfSearch = 10;

Forecast cs336::bench::forecastPlans(llvm::ArrayRef<ModelDescription> descriptions, size_t pipelines,
                                     const PlanSearches &searches) {
  Forecast forecast;
  forecast.timeBasis = "0.008 s per layer of a plan, and ten plans of each model with a limit or a budget";
  for (const ModelDescription &description : descriptions) {
    int64_t layers = description.transformer.numLayers, plans = 1, rows = 1;
    if (searches.hasLimit || searches.hasBudget)
      plans = kPlansOfSearch;
    if (searches.hasBestCheckpoint) {
      plans *= layers + 1;
      rows = std::min<int64_t>(layers + 1, 4); // The best, its neighbours, and none.
    }
    double seconds = kSecondsPerLayer * static_cast<double>(plans * layers);
    forecast.taskSeconds.insert(forecast.taskSeconds.end(), pipelines, seconds);
    forecast.cells += rows * static_cast<int64_t>(pipelines);
  }
  return forecast;
}
