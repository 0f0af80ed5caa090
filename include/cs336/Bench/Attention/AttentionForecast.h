//===- AttentionForecast.h - What a sweep of attention is going to take -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONFORECAST_H
#define CS336_BENCH_ATTENTION_ATTENTIONFORECAST_H

#include "cs336/Bench/Attention/AttentionBenchmark.h"
#include "cs336/Bench/Forecast/ForecastTime.h"
#include "cs336/Driver/Flags/CompileFlags.h"

namespace cs336::bench {

/// Forecasts the measurements of every case with every pipeline, without a peer. Requires at least one pipeline. The
/// memory is planned for the case with the most scores, with the first pipeline and the last. `options` apply to all
/// cells.
absl::StatusOr<Forecast> forecastAttention(llvm::ArrayRef<AttentionCase> cases,
                                           llvm::ArrayRef<PipelineVariant> pipelines, const AttentionOptions &options,
                                           PeakRates &rates);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONFORECAST_H
