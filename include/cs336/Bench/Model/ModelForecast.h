//===- ModelForecast.h - What a sweep of models is going to take -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELFORECAST_H
#define CS336_BENCH_MODEL_MODELFORECAST_H

#include "cs336/Bench/Forecast/ForecastTime.h"
#include "cs336/Bench/Model/ModelBenchmark.h"
#include "cs336/Driver/Flags/CompileFlags.h"

namespace cs336::bench {

/// Forecasts the measurements of every description through every pipeline, of which there is at least one, without a
/// peer. Memory is that of the description that needs most by a formula, planned with the first pipeline and the last
/// for three layers at most: each further layer adds as much as the third. `options` are those of all cells.
absl::StatusOr<Forecast> forecastModels(llvm::ArrayRef<ModelDescription> descriptions,
                                        llvm::ArrayRef<PipelineVariant> pipelines, const MeasureOptions &options,
                                        PeakRates &rates);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELFORECAST_H
