//===- WaysToFit.cpp - Changes that make a model fit ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/WaysToFit.h"

#include "cs336/Bench/Command/Distribution.h"
#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Driver/Compile/MemoryBudget.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

#include <vector>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

static bool hasBackward(Mode mode) { return mode == Mode::ForwardBackward || mode == Mode::Train; }

namespace {
/// A change of the compilation, as an option of the pipeline and as a flag. Both are empty for no change.
struct OptionChange {
  std::string option, flag;
};

/// Plans variants of one model and keeps those that fit.
class FitSearch {
public:
  FitSearch(const ModelDescription &description, const CompileOptions &options, const PipelineOptions &pipeline,
            int64_t limit, const DeviceModel *device);

  /// Plans steps of one token in each type. If they do not fit, no other change does in this type.
  absl::Status planSmallest();
  absl::Status addCompilation();
  /// Adds the recomputation that `--memory-budget` would choose, if it fits.
  absl::Status addBudget();
  absl::Status addRecomputation();
  /// Adds the largest smaller value of the size that fits, which `flag` sets.
  absl::Status addLargest(int64_t TransformerConfig::*size, StringRef flag);
  /// Adds a step of one token, if it fits.
  void addSmallest();
  /// Adds the smallest power of two of ranks that share the variables, if it fits.
  absl::Status addSharding();
  WaysToFit take() { return std::move(found); }
  bool isEmpty() const { return found.ways.empty(); }
  /// Returns whether a change other than that of the types may fit.
  bool mayFit() const { return fits(smallest.front().front()); }

private:
  absl::StatusOr<WayToFit> plan(const ModelDescription &variant, StringRef pipelineOptions, StringRef flags,
                                int64_t ranks = 1);
  bool fits(const WayToFit &way) const { return way.totalBytes <= limit; }
  /// Returns the unchanged types, and bfloat16 if the types are wider.
  std::vector<OptionChange> getTypeChanges() const;

  const ModelDescription &description;
  CompileOptions options;
  const PipelineOptions &pipeline;
  int64_t limit;
  const DeviceModel *device;
  /// The steps of one token, in the order of `getTypeChanges`: at the level of fusion of the pipeline, and at `all` if
  /// it is another level. The latter may need more memory, for derived variables.
  std::vector<std::vector<WayToFit>> smallest;
  WaysToFit found;
};
} // namespace

FitSearch::FitSearch(const ModelDescription &description, const CompileOptions &options,
                     const PipelineOptions &pipeline, int64_t limit, const DeviceModel *device)
    : description(description), options(options), pipeline(pipeline), limit(limit), device(device) {
  this->options.dumpDir.clear();
  this->options.passStatistics = nullptr;
  // The found changes replace the budget.
  if (!pipeline.memoryBudget.empty())
    this->options.pipeline += " memory-budget=";
}

absl::StatusOr<WayToFit> FitSearch::plan(const ModelDescription &variant, StringRef pipelineOptions, StringRef flags,
                                         int64_t ranks) {
  CompileOptions own = options;
  absl::StrAppend(&own.pipeline, " ", pipelineOptions.str());
  absl::StatusOr<ModelPlan> plan = planModel(variant, own, [](StringRef) {}, device);
  if (!plan.ok())
    return plan.status();
  WayToFit way{flags.str(), plan->getTotalBytes(), plan->getSecondsPerToken(variant), ranks};
  if (ranks == 1 && (!found.least || way.totalBytes < found.least->totalBytes))
    found.least = way;
  return way;
}

std::vector<OptionChange> FitSearch::getTypeChanges() const {
  std::vector<OptionChange> changes{{"", ""}};
  bool isWide = pipeline.dtype == ComputeType::FP32 || pipeline.dtype == ComputeType::TF32;
  if (isWide && description.dtype == BuildType::F32)
    changes.push_back({"dtype=bf16", "--dtype bf16"});
  return changes;
}

absl::Status FitSearch::planSmallest() {
  ModelDescription token = description;
  token.transformer.batchSize = token.transformer.contextLength = 1;
  std::vector<OptionChange> fusions{{"", ""}};
  if (pipeline.fusion != Fusion::All)
    fusions.push_back({"fusion=all", "--fusion all"});
  for (const OptionChange &type : getTypeChanges()) {
    std::vector<WayToFit> &ways = smallest.emplace_back();
    for (const OptionChange &fusion : fusions) {
      std::string flags = "--batch-size 1 --context-length 1";
      for (const std::string &flag : {type.flag, fusion.flag})
        if (!flag.empty())
          absl::StrAppend(&flags, " ", flag);
      absl::StatusOr<WayToFit> way = plan(token, absl::StrCat(type.option, " ", fusion.option), flags);
      if (!way.ok())
        return way.status();
      ways.push_back(*std::move(way));
    }
  }
  return absl::OkStatus();
}

void FitSearch::addSmallest() {
  for (const std::vector<WayToFit> &ways : smallest)
    for (const WayToFit &way : ways)
      if (fits(way)) {
        found.ways.push_back(way);
        return;
      }
}

/// Adds the lowest fusion level that fits, with unchanged types and with bfloat16.
absl::Status FitSearch::addCompilation() {
  for (auto [change, least] : llvm::zip_equal(getTypeChanges(), smallest)) {
    if (llvm::none_of(least, [this](const WayToFit &way) { return fits(way); }))
      continue;
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

absl::Status FitSearch::addBudget() {
  bool isChosen = pipeline.checkpoint != 0 || pipeline.selectiveCheckpoint != 0;
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
  absl::StatusOr<WayToFit> way =
      plan(description, recomputation->getOption(), absl::StrCat("--memory-budget ", budgetFlag));
  if (!way.ok())
    return way.status();
  found.ways.push_back(*std::move(way));
  return absl::OkStatus();
}

/// Tries blocks of 1, 2, … layers: larger blocks keep fewer inputs but have larger live sets, so that memory first
/// falls and then grows.
absl::Status FitSearch::addRecomputation() {
  if (!hasBackward(description.mode))
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

absl::Status FitSearch::addSharding() {
  constexpr int64_t kMostRanks = 1024;
  if (pipeline.worldSize > 1)
    return absl::OkStatus();
  std::optional<WayToFit> least;
  for (int64_t ranks = 2; ranks <= kMostRanks; ranks *= 2) {
    // A step of one token is almost only variables and gradients, which the ranks share.
    if (smallest.front().front().totalBytes / ranks > limit)
      continue;
    absl::StatusOr<WayToFit> way = plan(description, ExchangeVariant{Distribution::FSDP}.getPipelineOptions(ranks),
                                        absl::StrCat("--ranks ", ranks, " --distribute fsdp"), ranks);
    if (!way.ok())
      return way.status();
    if (fits(*way)) {
      found.ways.push_back(*std::move(way));
      return absl::OkStatus();
    }
    // The arena remains, which more ranks do not share.
    if (least && way->totalBytes >= least->totalBytes)
      break;
    least = *std::move(way);
  }
  found.leastSharding = std::move(least);
  return absl::OkStatus();
}

absl::StatusOr<WaysToFit> cs336::bench::findWaysToFit(const ModelDescription &description,
                                                      const CompileOptions &options, const PipelineOptions &pipeline,
                                                      int64_t limit, const DeviceModel *device) {
  FitSearch search(description, options, pipeline, limit, device);
  if (absl::Status status = search.planSmallest(); !status.ok())
    return status;
  if (absl::Status status = search.addCompilation(); !status.ok())
    return status;
  if (search.mayFit())
    for (absl::Status status : {search.addBudget(), search.addRecomputation(),
                                search.addLargest(&TransformerConfig::batchSize, "--batch-size"),
                                search.addLargest(&TransformerConfig::contextLength, "--context-length")})
      if (!status.ok())
        return status;
  if (search.isEmpty())
    search.addSmallest();
  if (search.isEmpty())
    if (absl::Status status = search.addSharding(); !status.ok())
      return status;
  return search.take();
}
