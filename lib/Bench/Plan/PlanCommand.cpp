//===- PlanCommand.cpp - cs336-bench plan ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PlanCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Plan/ParallelCells.h"
#include "cs336/Bench/Plan/PlanForecast.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <iterator>
#include <thread>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription =
    "computes memory and work of a Transformer's steps without running them";

PlanCommand::PlanCommand()
    : subcommand("plan", kDescription), model(modelCategory, subcommand), device(category, subcommand),
      memoryLimit("Memory limit of variables, inputs and the arena, e.g. 40GiB; if the model does not fit, the report "
                  "lists changes that would make it fit. A GPU also holds kernels, graphs and libraries: 2 to 34 MiB",
                  category, subcommand),
      most("largest", cl::desc("Maximum number of buffers and kernels to list (default 10)"), cl::value_desc("number"),
           cl::init(10), cl::cat(category), cl::sub(subcommand)),
      sweepTables("memory-tables",
                  cl::desc("Tables that compare all plans: memory at the peak of each phase, the buffers at the "
                           "peak of each step, and what one block keeps for the backward pass"),
                  cl::cat(category), cl::sub(subcommand)),
      bestCheckpoint("best-checkpoint",
                     cl::desc("Plan every --checkpoint, and list the one that takes the least memory, its two "
                              "neighbours, and no recomputation"),
                     cl::cat(category), cl::sub(subcommand)),
      timeline(category, subcommand), forecastOnly(category, subcommand), links(category, subcommand),
      ranks("ranks", cl::desc("Number of ranks; memory and work are those of one of them (default 1)"),
            cl::value_desc("number"), cl::init(1), cl::cat(category), cl::sub(subcommand)),
      distribute({Distribution::None}, "Modes in which ranks average gradients and the loss (default none)", category,
                 subcommand),
      output(category, subcommand), published(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::WithCheckpoints),
      predictOn(getDefaultDeviceModel(/*isForGPU=*/false)) {
  device.setDescription("Target: cpu (default) or cuda, which requires no GPU");
}

void PlanCommand::hideOtherOptions() { hideOtherFlags({&category, &modelCategory}, subcommand); }

absl::StatusOr<PlanRow> PlanCommand::makeRow(const ModelDescription &description,
                                             const PipelineVariant &variant) const {
  PipelineOptions pipeline;
  if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
    return status;
  if (absl::Status status = checkTypes(description, pipeline.dtype); !status.ok())
    return status;
  PlanRow row{description, pipeline.dtype, pipeline.fusion, {}, memoryLimit.getBytes(), {}, variant};
  row.ranks = pipeline.worldSize;
  if (pipeline.worldSize > 1) {
    row.exchange = {*symbolizeDistribution(stringifyDistributeMode(pipeline.distribute))};
    if (pipeline.bucketMiB.hasValue())
      row.exchange->bucketMiB = pipeline.bucketMiB;
  } else if (distribute.areGiven()) {
    row.exchange = ExchangeVariant();
  }
  return row;
}

std::vector<PipelineVariant> PlanCommand::getPipelines() const {
  std::vector<PipelineVariant> pipelines;
  for (const PipelineVariant &pipeline : compile.getPipelines())
    for (const ExchangeVariant &exchange : distribute.getVariants()) {
      pipelines.push_back(pipeline);
      pipelines.back().options += exchange.getPipelineOptions(ranks);
    }
  return pipelines;
}

absl::Status PlanCommand::checkRanks() const {
  if (absl::Status status = distribute.check(); !status.ok())
    return status;
  if (absl::Status status = links.check(); !status.ok())
    return status;
  if (ranks < 1)
    return absl::InvalidArgumentError(absl::StrCat("--ranks is ", ranks.getValue(), ", must be at least 1"));
  std::vector<ExchangeVariant> exchanges = distribute.getVariants();
  auto first = llvm::find_if(exchanges, [](const ExchangeVariant &each) { return each.mode != Distribution::None; });
  if (first == exchanges.end()) {
    if (absl::Status status =
            refuseFlag(ranks, distribute.areGiven() ? "--distribute none is one rank" : "it requires --distribute");
        !status.ok())
      return status;
    return links.refuse("it requires --ranks and --distribute");
  }
  llvm::StringRef mode = stringifyDistribution(first->mode);
  if (ranks.getNumOccurrences() == 0)
    return absl::InvalidArgumentError(absl::StrCat("--distribute ", mode.str(), " requires --ranks"));
  PipelineVariant pipeline = compile.getPipelines().back();
  for (llvm::StringRef name : {"world-size", "distribute", "bucket-mib"})
    if (std::optional<llvm::StringRef> value = findOption(pipeline, name))
      return absl::InvalidArgumentError(absl::StrCat("--distribute ", mode.str(), " conflicts with '", name.str(), "=",
                                                     value->str(), "' in --pipeline-options: give one of the two"));
  return absl::OkStatus();
}

absl::StatusOr<PlanRow> PlanCommand::plan(const ModelDescription &description, const PipelineVariant &variant,
                                          const CompileOptions &options) const {
  absl::StatusOr<PlanRow> row = makeRow(description, variant);
  if (!row.ok())
    return row;
  CompileOptions own = options;
  own.pipeline = variant.options;
  // Several threads plan at the same time: without a timer of its own, passes of one plan nest in the timer of another.
  mlir::TimingScope timing = options.timing ? options.timing->nest(describePlan(*row)) : mlir::TimingScope();
  own.timing = &timing;
  absl::StatusOr<ModelPlan> planned = planModel(description, own, [](llvm::StringRef) {}, &predictOn);
  bool isUnmet = absl::IsResourceExhausted(planned.status());
  if (!planned.ok() && !isUnmet)
    return planned.status();
  if (isUnmet)
    row->status = planned.status();
  else
    row->plan = *std::move(planned);
  if (!row->fits())
    if (absl::Status status = addWaysToFit(own, *row); !status.ok())
      return status;
  return row;
}

absl::Status PlanCommand::addWaysToFit(const CompileOptions &options, PlanRow &row) const {
  PipelineOptions pipeline;
  if (absl::Status status = readPipeline(row.pipeline.options, pipeline); !status.ok())
    return status;
  int64_t limit = row.limitBytes;
  if (!row.status.ok()) {
    int64_t budget = pipeline.memoryBudget == "auto" ? options.deviceMemoryBytes : *parseBytes(pipeline.memoryBudget);
    limit = limit > 0 ? std::min(limit, budget) : budget;
  }
  absl::StatusOr<WaysToFit> ways = findWaysToFit(row.description, options, pipeline, limit, &predictOn);
  if (!ways.ok())
    return ways.status();
  row.waysToFit = *std::move(ways);
  return absl::OkStatus();
}

absl::Status PlanCommand::planBestCheckpoint(const ModelDescription &description, const PipelineVariant &variant,
                                             const CompileOptions &options, std::vector<PlanRow> &rows) const {
  std::vector<PlanRow> planned;
  for (int64_t layers = 0; layers <= description.transformer.numLayers; ++layers) {
    if (absl::Status status = checkInterruption(); !status.ok())
      return status;
    PipelineVariant own = variant;
    absl::StrAppend(&own.options, " checkpoint=", layers);
    absl::StatusOr<PlanRow> row = plan(description, own, options);
    if (!row.ok())
      return row.status();
    row->checkpoint = layers;
    planned.push_back(*std::move(row));
  }
  auto best = std::min_element(planned.begin(), planned.end(), [](const PlanRow &a, const PlanRow &b) {
    return a.plan.getTotalBytes() < b.plan.getTotalBytes();
  });
  best->isBestCheckpoint = true;
  for (PlanRow &row : planned)
    if (*row.checkpoint == 0 || std::abs(*row.checkpoint - *best->checkpoint) <= 1)
      rows.push_back(row);
  return absl::OkStatus();
}

absl::Status PlanCommand::planCell(const ModelDescription &description, const PipelineVariant &variant,
                                   const CompileOptions &options, std::vector<PlanRow> &rows) const {
  if (absl::Status status = checkInterruption(); !status.ok())
    return status;
  if (bestCheckpoint)
    return planBestCheckpoint(description, variant, options, rows);
  absl::StatusOr<PlanRow> row = plan(description, variant, options);
  if (row.ok())
    rows.push_back(*std::move(row));
  return row.status();
}

/// Returns the number of plans at the same time. Each may take a few hundred MiB. Dumps, and what compilation prints,
/// stay in the order of the cells.
static size_t getNumThreads(const CompileOptions &options) {
  if (!options.dumpDir.empty() || !options.remarks.empty() || options.passStatistics)
    return 1;
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
}

absl::Status PlanCommand::planAll(llvm::ArrayRef<ModelDescription> descriptions, const CompileOptions &options,
                                  std::vector<PlanRow> &rows) const {
  std::vector<PipelineVariant> pipelines = getPipelines();
  size_t count = descriptions.size() * pipelines.size();
  Progress progress(static_cast<int64_t>(count));
  auto begin = [&](size_t index) {
    // An error of the row is that of its plan.
    if (auto row = makeRow(descriptions[index / pipelines.size()], pipelines[index % pipelines.size()]); row.ok())
      progress.start(describePlan(*row));
  };
  std::vector<std::vector<PlanRow>> cells(count);
  absl::Status status = forEachCell(count, getNumThreads(options), begin, [&](size_t index) {
    std::vector<PlanRow> planned;
    absl::Status status =
        planCell(descriptions[index / pipelines.size()], pipelines[index % pipelines.size()], options, planned);
    if (status.ok())
      cells[index] = std::move(planned);
    return status;
  });
  // Cells behind one that failed may be complete.
  for (std::vector<PlanRow> &cell : cells) {
    if (cell.empty())
      break;
    std::move(cell.begin(), cell.end(), std::back_inserter(rows));
  }
  return status;
}

std::vector<ColumnHead> PlanCommand::getColumns() const {
  auto columns = getPlanColumns({static_cast<size_t>(most)});
  return {columns.begin(), columns.end()};
}

absl::Status PlanCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = compile.checkWithoutCode(); !status.ok())
    return status;
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = memoryLimit.check(); !status.ok())
    return status;
  if (absl::Status status = checkRanks(); !status.ok())
    return status;
  if (most < 0)
    return absl::InvalidArgumentError(absl::StrCat("--largest is ", most.getValue(), ", must not be negative"));
  if (absl::Status status = published.check(); !status.ok())
    return status;
  if (absl::Status status = output.check(getPlanColumns({0})); !status.ok())
    return status;
  std::vector<OutputPath> outputs = timeline.getFiles().getPaths();
  outputs.push_back(output.getPath());
  if (absl::Status status = compile.checkOutputs(outputs); !status.ok())
    return status;
  absl::StatusOr<std::vector<ModelDescription>> descriptions = describeModels(model, ModelDescription());
  if (!descriptions.ok())
    return descriptions.status();
  if (absl::Status status = checkCheckpoint(compile, *descriptions); !status.ok())
    return status;
  size_t numPlans = descriptions->size() * getPipelines().size();
  if (absl::Status status = timeline.check(numPlans); !status.ok())
    return status;
  if (bestCheckpoint && compile.setsCheckpoint())
    return absl::InvalidArgumentError("--best-checkpoint conflicts with --checkpoint: it plans every value");
  if (bestCheckpoint && compile.setsMemoryBudget())
    return absl::InvalidArgumentError(
        "--best-checkpoint conflicts with --memory-budget, which chooses what is recomputed");
  for (const OutputPath &path : timeline.getFiles().getPaths())
    if (bestCheckpoint && !path.path.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("--best-checkpoint conflicts with ", path.flag.str(), ", which requires one plan"));
  if (forecastOnly) {
    PlanSearches searches{memoryLimit.getNumOccurrences() > 0, compile.setsMemoryBudget(), bestCheckpoint};
    llvm::outs() << json::Value(forecastPlans(*descriptions, getPipelines().size(), searches).toJSON()) << "\n";
    return absl::OkStatus();
  }
  const DeviceModel *named = timeline.getDevice();
  predictOn = named ? *named : getDefaultDeviceModel(device.kind == runtime::DeviceKind::kCuda);
  predictOn.interconnect = links.apply(predictOn.interconnect);
  catchInterruptions();
  std::vector<PlanRow> rows;
  absl::Status status =
      compile.compile(device, [&](const CompileOptions &options) { return planAll(*descriptions, options, rows); });
  if (!status.ok() && !absl::IsCancelled(status) && rows.empty())
    return status;
  if (timeline.getFiles().areGiven() && !rows.empty() && !rows.front().status.ok())
    return rows.front().status;
  json::Object context{{"benchmark", "plan"},
                       {"command", commandLine},
                       {"target", device.kind == runtime::DeviceKind::kCuda ? "cuda" : "cpu"}};
  markIfIncomplete(context, status);
  absl::Status written;
  if (rows.size() == 1 && rows.front().status.ok()) {
    json::Object described = context;
    described["model"] = describePlan(rows.front());
    written = timeline.getFiles().write(rows.front().plan.timeline, std::move(described));
  }
  if (distribute.areGiven()) {
    const Interconnect &used = predictOn.interconnect;
    context["interconnect"] = json::Object{{"start_us", used.startSeconds * 1e6},
                                           {"link", describeLink(used.link)},
                                           {"network", describeLink(used.network)},
                                           {"devices_per_host", used.devicesPerHost}};
  }
  PlanTables tables{static_cast<size_t>(most), timeline.getDetailBytes(), sweepTables};
  if (written.ok())
    written = output.write(published.addTo(makePlanReport(rows, std::move(context), tables)));
  if (!written.ok())
    return written;
  if (!status.ok())
    return describeEarlyEnd(status, rows.size(), numPlans, "cells are left out");
  if (llvm::none_of(rows, [](const PlanRow &row) { return row.fits(); }))
    return absl::OkStatus();
  llvm::errs() << "next: ";
  if (memoryLimit.getNumOccurrences() == 0)
    llvm::errs() << "--memory-limit 40GiB checks whether it fits; ";
  llvm::errs() << (ranks > 1 ? "cs336-bench ddp" : "cs336-bench model --mode train") << " measures such a step\n";
  return absl::OkStatus();
}
