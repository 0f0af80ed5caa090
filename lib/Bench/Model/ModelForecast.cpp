//===- ModelForecast.cpp - What a sweep of models is going to take --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelForecast.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Model/ModelReport.h"
#include "cs336/Bench/Plan/ModelPlan.h"
#include "cs336/Frontend/StepFlops.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;

/// Returns the approximate bytes of a session of the model: parameters, their gradients and moments, and activations.
/// Only good enough to compare models.
static double getWeight(const ModelDescription &description) {
  const TransformerConfig &config = description.transformer;
  bool hasBackward = description.mode == Mode::ForwardBackward || description.mode == Mode::Train;
  double copies = description.mode == Mode::Train ? 4 : hasBackward ? 2 : 1;
  double batch = static_cast<double>(config.batchSize), length = static_cast<double>(config.contextLength);
  double layer = batch * length *
                 (8 * static_cast<double>(config.dModel) + 4 * static_cast<double>(config.dFF) +
                  2 * static_cast<double>(config.numHeads) * length);
  double layers = hasBackward ? static_cast<double>(config.numLayers) : 1;
  double logits = batch * length * static_cast<double>(config.vocabSize);
  double size = description.dtype == BuildType::F64 ? 8 : 4;
  return size * (copies * static_cast<double>(config.getParameterCount()) + layers * layer + 2 * logits);
}

static absl::StatusOr<int64_t> planLayers(ModelDescription description, int64_t layers, const CompileOptions &options) {
  description.transformer.numLayers = layers;
  absl::StatusOr<ModelPlan> plan = planModel(description, options, [](llvm::StringRef) {});
  if (!plan.ok())
    return plan.status();
  return plan->getTotalBytes();
}

static absl::StatusOr<int64_t> planMemory(const ModelDescription &description, const CompileOptions &options,
                                          const PipelineOptions &pipeline) {
  constexpr int64_t kPlannedLayers = 3;
  int64_t layers = description.transformer.numLayers;
  // With recomputation, memory is not linear in the number of layers.
  if (layers <= kPlannedLayers || pipeline.checkpoint != 0 || pipeline.selectiveCheckpoint != 0 ||
      !pipeline.memoryBudget.empty())
    return planLayers(description, layers, options);
  absl::StatusOr<int64_t> all = planLayers(description, kPlannedLayers, options);
  absl::StatusOr<int64_t> fewer = planLayers(description, kPlannedLayers - 1, options);
  if (!all.ok() || !fewer.ok())
    return all.ok() ? fewer : all;
  return *all + (layers - kPlannedLayers) * (*all - *fewer);
}

/// Adds the planned memory to the forecast. A model without a plan is still measured; its row contains the error.
static absl::Status forecastMemory(const ModelDescription &largest, llvm::ArrayRef<PipelineVariant> pipelines,
                                   const MeasureOptions &options, Forecast &forecast) {
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
    absl::StatusOr<int64_t> bytes = planMemory(largest, own, pipeline);
    if (!bytes.ok() || *bytes <= forecast.memoryBytes.value_or(0))
      continue;
    forecast.memoryBytes = *bytes;
    forecast.largest = describeModel({largest, pipeline.dtype, pipeline.fusion, std::nullopt, {}, *variant});
  }
  return absl::OkStatus();
}

/// Returns the seconds of passes and of drawing initial parameters, as measured on two cores.
static double getOtherSeconds(const TransformerConfig &config) {
  constexpr double kPerLayer = 0.06, kPerParameter = 1e-8;
  return kPerLayer * static_cast<double>(config.numLayers) +
         kPerParameter * static_cast<double>(config.getParameterCount());
}

absl::StatusOr<Forecast> cs336::bench::forecastModels(llvm::ArrayRef<ModelDescription> descriptions,
                                                      llvm::ArrayRef<PipelineVariant> pipelines,
                                                      const MeasureOptions &options, PeakRates &rates) {
  Forecast forecast;
  forecast.cells = static_cast<int64_t>(descriptions.size() * pipelines.size() * options.warmups.size());
  const ModelDescription &largest = *llvm::max_element(
      descriptions, [](const ModelDescription &a, const ModelDescription &b) { return getWeight(a) < getWeight(b); });
  if (absl::Status status = forecastMemory(largest, pipelines, options, forecast); !status.ok())
    return status;

  int64_t runs = *llvm::max_element(options.warmups) + options.steps;
  if (options.profile)
    runs += options.warmups.front() + options.steps;
  std::vector<TaskWork> tasks;
  for (const ModelDescription &description : descriptions)
    for (const PipelineVariant &variant : pipelines) {
      PipelineOptions pipeline;
      if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
        return status;
      if (absl::Status status = checkTypes(description, pipeline.dtype); !status.ok())
        return status;
      double step = getModelFlops(description.transformer, description.mode);
      tasks.push_back({step * static_cast<double>(runs), getOtherSeconds(description.transformer), description.dtype,
                       pipeline.dtype});
    }
  forecastTime(tasks, rates, forecast);
  return forecast;
}
