//===- ModelPlan.cpp - What a model needs, without running it -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/ModelPlan.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Driver/Compile/MemoryBudget.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Target/Executable/EmitExecutable.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

exec::Work ModelPlan::getWork() const {
  exec::Work sum;
  for (const PhaseSummary &phase : phases)
    sum += phase.work;
  return sum;
}

double ModelPlan::getCommandsPerLayer() const {
  exec::Work sum;
  for (const PhaseSummary &phase : phases)
    sum += phase.inLayers;
  return layers == 0 ? 0 : static_cast<double>(sum.getCommands()) / static_cast<double>(layers);
}

double ModelPlan::getSecondsPerToken(const ModelDescription &description) const {
  const TransformerConfig &config = description.transformer;
  return timeline.getSeconds() / static_cast<double>(config.batchSize * config.contextLength);
}

/// Computes the timeline of the entry for that mode, and its sums.
static void summarize(const format::ExecutableT &program, Mode mode, const DeviceModel &device, ModelPlan &plan) {
  if (const format::EntryT *entry = findEntry(program, mode))
    plan.timeline = computeTimeline(program, *entry, device);
  KindBytes residents = plan.timeline.getResidentBytes();
  plan.parameterBytes = residents[MemoryKind::Parameter];
  plan.stateBytes = residents[MemoryKind::State];
  plan.derivedBytes = residents[MemoryKind::Derived];
  plan.inputBytes = residents[MemoryKind::Input];
  plan.hostBytes = plan.timeline.hostBytes;
  plan.arenaBytes = plan.timeline.arenaBytes;
  plan.phases = summarizePhases(plan.timeline);
  plan.kernels = summarizeKernels(plan.timeline);
  plan.communication = summarizeCommunication(plan.timeline);
  plan.layerMemory = summarizeMiddleLayer(plan.timeline);
  plan.layers = countLayers(plan.timeline);
}

absl::StatusOr<ModelPlan> bench::planModel(const ModelDescription &description, const CompileOptions &options,
                                           llvm::function_ref<void(StringRef)> warn, const DeviceModel *device) {
  ModelPlan plan;
  bool isForGPU = options.target == Target::CUDA;
  absl::Status unmet;
  absl::Status status = withModelIR(description, warn, [&](ModuleOp module) {
    FailureOr<BudgetFit> fit = findBudgetFit(module, options);
    if (failed(fit))
      return failure();
    if (!fit->whyNot.empty()) {
      unmet = absl::ResourceExhaustedError(fit->whyNot);
      return success();
    }
    if (failed(runPipeline(module, fit->options)))
      return failure();
    PipelineOptions pipeline;
    llvm::cantFail(pipeline.read(fit->options.pipeline));
    plan.recomputedShare = pipeline.selectiveCheckpoint;
    FailureOr<format::ExecutableT> program = describeProgram(module, options.target);
    if (failed(program))
      return failure();
    summarize(*program, description.mode, device ? *device : getDefaultDeviceModel(isForGPU), plan);
    return success();
  });
  status.Update(unmet);
  if (!status.ok())
    return status;
  return plan;
}

static bool hasBackward(Mode mode) { return mode == Mode::ForwardBackward || mode == Mode::Train; }

namespace {
/// Plans variants of one model and keeps those that fit.
class FitSearch {
public:
  FitSearch(const ModelDescription &description, const CompileOptions &options, int64_t limit,
            const DeviceModel *device)
      : description(description), options(options), limit(limit), device(device) {}

  absl::Status addCompilation(const PipelineOptions &pipeline);
  /// Adds the recomputation that `--memory-budget` would choose, if it fits.
  absl::Status addBudget(const PipelineOptions &pipeline);
  absl::Status addRecomputation(const PipelineOptions &pipeline);
  /// Adds the largest smaller value of the size that fits, which `flag` sets.
  absl::Status addLargest(int64_t TransformerConfig::*size, StringRef flag);
  WaysToFit take() { return std::move(found); }

private:
  absl::StatusOr<WayToFit> plan(const ModelDescription &variant, StringRef pipeline, StringRef flags);
  bool fits(const WayToFit &way) const { return way.totalBytes <= limit; }

  const ModelDescription &description;
  const CompileOptions &options;
  int64_t limit;
  const DeviceModel *device;
  WaysToFit found;
};
} // namespace

absl::StatusOr<WayToFit> FitSearch::plan(const ModelDescription &variant, StringRef pipeline, StringRef flags) {
  CompileOptions own = options;
  own.dumpDir.clear();
  own.passStatistics = nullptr;
  absl::StrAppend(&own.pipeline, " ", pipeline.str());
  absl::StatusOr<ModelPlan> plan = planModel(variant, own, [](StringRef) {}, device);
  if (!plan.ok())
    return plan.status();
  WayToFit way{flags.str(), plan->getTotalBytes(), plan->getSecondsPerToken(variant)};
  if (!found.least || way.totalBytes < found.least->totalBytes)
    found.least = way;
  return way;
}

/// Adds the lowest fusion level that fits, with unchanged types and with bfloat16.
absl::Status FitSearch::addCompilation(const PipelineOptions &pipeline) {
  struct TypeChange {
    std::string option, flag;
  };
  std::vector<TypeChange> changes{{"", ""}};
  bool isWide = pipeline.dtype == ComputeType::FP32 || pipeline.dtype == ComputeType::TF32;
  if (isWide && description.dtype == BuildType::F32)
    changes.push_back({"dtype=bf16", "--dtype bf16"});
  for (const TypeChange &change : changes) {
    for (int level = static_cast<int>(pipeline.fusion.getValue()); level <= static_cast<int>(Fusion::All); ++level) {
      std::string name = stringifyFusion(static_cast<Fusion>(level)).str();
      bool isSame = level == static_cast<int>(pipeline.fusion.getValue());
      if (isSame && change.flag.empty())
        continue;
      std::string flags = change.flag;
      if (!isSame)
        absl::StrAppend(&flags, flags.empty() ? "" : " ", "--fusion ", name);
      absl::StatusOr<WayToFit> way = plan(description, absl::StrCat(change.option, " fusion=", name), flags);
      if (!way.ok())
        return way.status();
      if (!fits(*way))
        continue;
      found.ways.push_back(*std::move(way));
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status FitSearch::addBudget(const PipelineOptions &pipeline) {
  bool isChosen = pipeline.checkpoint != 0 || pipeline.selectiveCheckpoint != 0 || !pipeline.memoryBudget.empty();
  if (isChosen || !hasBackward(description.mode))
    return absl::OkStatus();
  // The plan is that of the printed budget.
  std::string budgetFlag = formatFlagBytes(limit);
  int64_t budget = *parseBytes(budgetFlag);
  FailureOr<Recomputation> recomputation = failure();
  absl::Status status = withModelIR(
      description, [](StringRef) {},
      [&](ModuleOp module) {
        recomputation = findRecomputation(module, options, budget);
        return success(succeeded(recomputation));
      });
  if (!status.ok() || recomputation->bytes > budget)
    return status;
  absl::StatusOr<WayToFit> way = plan(description, absl::StrCat("selective-checkpoint=", recomputation->share),
                                      absl::StrCat("--memory-budget ", budgetFlag));
  if (!way.ok())
    return way.status();
  found.ways.push_back(*std::move(way));
  return absl::OkStatus();
}

/// Tries blocks of 1, 2, … layers: larger blocks keep fewer inputs but have larger live sets, so that memory first
/// falls and then grows.
absl::Status FitSearch::addRecomputation(const PipelineOptions &pipeline) {
  if (!pipeline.memoryBudget.empty() || !hasBackward(description.mode))
    return absl::OkStatus();
  std::optional<WayToFit> least;
  for (int64_t layers = 1; layers <= description.transformer.numLayers; ++layers) {
    if (layers == pipeline.checkpoint)
      continue;
    absl::StatusOr<WayToFit> way =
        plan(description, absl::StrCat("checkpoint=", layers), absl::StrCat("--checkpoint ", layers));
    if (!way.ok())
      return way.status();
    if (fits(*way)) {
      found.ways.push_back(*std::move(way));
      return absl::OkStatus();
    }
    if (least && way->totalBytes > least->totalBytes)
      break;
    least = *std::move(way);
  }
  found.leastRecomputation = std::move(least);
  return absl::OkStatus();
}

/// Bisects. For any two limits, the searches are identical until a value fits only the larger one. So a larger limit
/// never gives a smaller result, even if memory is not monotone in the size.
absl::Status FitSearch::addLargest(int64_t TransformerConfig::*size, StringRef flag) {
  int64_t fitting = 0, tooLarge = description.transformer.*size;
  std::optional<WayToFit> largest;
  ModelDescription variant = description;
  while (tooLarge - fitting > 1) {
    int64_t middle = fitting + (tooLarge - fitting) / 2;
    variant.transformer.*size = middle;
    absl::StatusOr<WayToFit> way = plan(variant, "", absl::StrCat(flag.str(), " ", middle));
    if (!way.ok())
      return way.status();
    (fits(*way) ? fitting : tooLarge) = middle;
    if (fits(*way))
      largest = *std::move(way);
  }
  if (largest)
    found.ways.push_back(*std::move(largest));
  return absl::OkStatus();
}

absl::StatusOr<WaysToFit> bench::findWaysToFit(const ModelDescription &description, const CompileOptions &options,
                                               const PipelineOptions &pipeline, int64_t limit,
                                               const DeviceModel *device) {
  FitSearch search(description, options, limit, device);
  for (absl::Status status :
       {search.addCompilation(pipeline), search.addBudget(pipeline), search.addRecomputation(pipeline),
        search.addLargest(&TransformerConfig::batchSize, "--batch-size"),
        search.addLargest(&TransformerConfig::contextLength, "--context-length")})
    if (!status.ok())
      return status;
  return search.take();
}
