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

/// Forecasts the measurements of every description with every pipeline, without a peer. Requires at least one pipeline.
/// The memory is planned for the description that needs the most by a formula, with the first pipeline and the last.
/// The plan has at most three layers; each further layer adds as much memory as the third. `options` apply to all
/// cells.
absl::StatusOr<Forecast> forecastModels(llvm::ArrayRef<ModelDescription> descriptions,
                                        llvm::ArrayRef<PipelineVariant> pipelines, const MeasureOptions &options,
                                        PeakRates &rates);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELFORECAST_H
