//===- AttentionForecast.cpp - What a sweep of attention is going to take -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionForecast.h"

#include "cs336/Bench/Attention/AttentionReport.h"
#include "cs336/Bench/Command/BenchFlags.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

/// Returns the approximate number of values in a case. Only good enough to compare cases.
static double getWeight(const AttentionCase &attention) {
  return static_cast<double>(attention.batchSize * attention.numHeads) * static_cast<double>(attention.length) *
         static_cast<double>(attention.length + 2 * attention.headDim);
}

/// Adds the planned memory to the forecast. A case without a plan is still measured; its row contains the error.
static absl::Status forecastMemory(AttentionCase largest, llvm::ArrayRef<PipelineVariant> pipelines,
                                   const AttentionOptions &options, Forecast &forecast) {
  llvm::SmallVector<const PipelineVariant *> planned{&pipelines.front()};
  if (pipelines.size() > 1)
    planned.push_back(&pipelines.back());
  for (const PipelineVariant *variant : planned) {
    PipelineOptions pipeline;
    if (absl::Status status = readPipeline(variant->options, pipeline); !status.ok())
      return status;
    CompileOptions own = options.compile;
    own.pipeline = variant->options;
    own.dumpDir.clear();
    own.passStatistics = nullptr;
    own.timing = nullptr;
    largest.computeType = pipeline.dtype;
    absl::StatusOr<AttentionMemory> memory = planAttention(largest, own);
    int64_t bytes = memory.ok() ? std::max(memory->forwardPeak, memory->backwardPeak) : 0;
    if (bytes <= forecast.memoryBytes.value_or(0))
      continue;
    forecast.memoryBytes = bytes;
    forecast.largest = describeAttention(largest, pipeline.fusion, *variant);
  }
  return absl::OkStatus();
}

absl::StatusOr<Forecast> cs336::bench::forecastAttention(llvm::ArrayRef<AttentionCase> cases,
                                                         llvm::ArrayRef<PipelineVariant> pipelines,
                                                         const AttentionOptions &options, PeakRates &rates) {
  // Measured on two cores: passes over three small programs.
  constexpr double kOtherSeconds = 0.3;
  Forecast forecast;
  forecast.cells = static_cast<int64_t>(cases.size() * pipelines.size());
  const AttentionCase &largest = *llvm::max_element(
      cases, [](const AttentionCase &a, const AttentionCase &b) { return getWeight(a) < getWeight(b); });
  if (absl::Status status = forecastMemory(largest, pipelines, options, forecast); !status.ok())
    return status;

  std::vector<TaskWork> tasks;
  for (const AttentionCase &attention : cases)
    for (const PipelineVariant &variant : pipelines) {
      PipelineOptions pipeline;
      if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
        return status;
      // Only fused windows skip the pairs that a score function hides, so plain attention is an upper bound.
      AttentionCase plain = attention;
      plain.score = {};
      // @forward, @loss and @forward_backward.
      double step = 3 * plain.getForwardFlops() + plain.getBackwardFlops();
      tasks.push_back(
          {step * static_cast<double>(options.warmup + options.steps), kOtherSeconds, BuildType::F32, pipeline.dtype});
    }
  forecastTime(tasks, rates, forecast);
  return forecast;
}
