//===- ModelCommand.cpp - cs336-bench model -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Command/StepCounts.h"
#include "cs336/Bench/Model/ModelForecast.h"
#include "cs336/Bench/Model/ModelProfile.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Profile/Overhead.h"
#include "cs336/Bench/Profile/TraceOutput.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"

#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "times a Transformer's steps on random tokens";

static constexpr llvm::StringLiteral kVariants[] = {"eager",  "primitive",    "sdpa",        "compile",
                                                    "graphs", "graphs-cudnn", "graphs-bf16w"};

ModelCommand::ModelCommand()
    : subcommand("model", kDescription), model(modelCategory, subcommand),
      warmups("warmup", cl::desc("Steps before the timed ones; several numbers are measured side by side (default 5)"),
              cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      warmupsAlias("warmup_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::CommaSeparated,
                   cl::aliasopt(warmups)),
      steps("steps", cl::desc("Timed steps (default 10)"), cl::value_desc("number"), cl::init(10), cl::cat(category),
            cl::sub(subcommand)),
      stepsAlias("n_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::aliasopt(steps)),
      device(category, subcommand),
      backward("backward", cl::desc("The same as --mode forward_backward"), cl::cat(category), cl::sub(subcommand)),
      includeOptimizer("include_optimizer", cl::desc("The same as --mode train"), cl::cat(category),
                       cl::sub(subcommand)),
      numThreads("num-threads", cl::desc("Threads of one command; 0 is one per core (default)"),
                 cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of parameters and tokens (default 0)"), cl::value_desc("number"), cl::init(0),
           cl::cat(category), cl::sub(subcommand)),
      memoryLimit("Maximum memory of a model, e.g. 40GiB; a cell that needs more is 'OOM'", category, subcommand),
      peer(
          kVariants,
          "Compare with PyTorch on the same parameters and tokens: torch, or torch:VARIANT,... with variants eager "
          "(default), primitive, sdpa, compile, graphs, graphs-cudnn, graphs-bf16w. With --ladder, beside the rungs in "
          "--dtype",
          category, subcommand),
      perStep("per-step", cl::desc("Show the time of every step"), cl::cat(category), cl::sub(subcommand)),
      profile(category, subcommand), timeline(category, subcommand),
      memoryTables("memory-tables",
                   cl::desc("Table of the memory in use after the steps by the GPU's own count, beside the plan, with "
                            "the parts of the difference"),
                   cl::cat(category), cl::sub(subcommand)),
      noGraph(category, subcommand), noMFU("no-mfu", cl::desc("Do not time the dense GEMM to which MFU refers"),
                                           cl::cat(category), cl::sub(subcommand)),
      forecastOnly(category, subcommand), output(category, subcommand), published(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::WithCheckpoints) {}

absl::StatusOr<std::unique_ptr<TorchPeer>> ModelCommand::startPeer(const MeasureOptions &options) const {
  if (!peer.isGiven() || forecastOnly)
    return nullptr;
  PeerOptions peerOptions = peer.getOptions();
  peerOptions.device = options.device;
  peerOptions.numThreads = numThreads;
  peerOptions.warmup = options.warmups.front();
  peerOptions.steps = steps;
  return TorchPeer::start(peerOptions);
}

absl::Status ModelCommand::checkFlags() const {
  if (absl::Status status = checkStepCounts(steps, llvm::SmallVector<int64_t>(warmups.begin(), warmups.end()));
      !status.ok())
    return status;
  if (numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", numThreads.getValue(), ", must not be negative"));
  if ((backward || includeOptimizer) && model.sets("mode"))
    return absl::InvalidArgumentError("--mode conflicts with --backward and --include_optimizer: omit these");
  if (absl::Status status = profile.check(); !status.ok())
    return status;
  if (absl::Status status = noGraph.check(device); !status.ok())
    return status;
  if (device.kind != runtime::DeviceKind::kCuda)
    if (absl::Status status =
            refuseFlag(memoryTables, "only a GPU counts the memory in use; pass --device cuda, or use "
                                     "cs336-bench plan, which shows the planned memory");
        !status.ok())
      return status;
  if (noGraph && (profile.isProfiled() || timeline.areGiven()))
    return absl::InvalidArgumentError("--no-graph conflicts with --profile, --trace, --timeline and --snapshot, which "
                                      "time the graphs that a step runs as otherwise: leave out one of them");
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = memoryLimit.check(); !status.ok())
    return status;
  if (absl::Status status = peer.check(); !status.ok())
    return status;
  if (absl::Status status = published.check(); !status.ok())
    return status;
  if (absl::Status status = output.check(getModelColumns({}, peer.getVariants(), perStep)); !status.ok())
    return status;
  std::vector<OutputPath> outputs = timeline.getPaths();
  outputs.insert(outputs.end(), {output.getPath(), profile.getTracePath()});
  return compile.checkOutputs(outputs);
}

void ModelCommand::hideOtherOptions() { hideOtherFlags({&category, &modelCategory}, subcommand); }

/// Measures the peak again if the last cell exceeds it, and updates the rows of the same types.
static absl::Status raisePeak(PeakRates &peaks, Progress &progress, std::vector<ModelRow> &rows) {
  if (rows.empty() || !rows.back().peakRate)
    return absl::OkStatus();
  BuildType type = rows.back().description.dtype;
  ComputeType computeType = rows.back().computeType;
  auto isSame = [&](const ModelRow &row) {
    return row.description.dtype == type && row.computeType == computeType && row.peakRate;
  };
  double reached = 0;
  for (const ModelRow &row : rows)
    if (isSame(row) && row.measurement.status.ok())
      reached = std::max(reached, getFlopsPerSecond(row));
  if (reached <= *rows.back().peakRate)
    return absl::OkStatus();
  progress.update("peak of GEMMs again", 1);
  absl::StatusOr<double> rate = peaks.getAbove(type, computeType, reached);
  if (!rate.ok())
    return rate.status();
  for (ModelRow &row : rows)
    if (isSame(row))
      row.peakRate = *rate;
  return absl::OkStatus();
}

absl::Status ModelCommand::measureAll(llvm::ArrayRef<ModelDescription> descriptions, const MeasureOptions &options,
                                      const Forecast &forecast, PeakRates &peaks, std::vector<ModelRow> &rows) const {
  std::vector<PipelineVariant> pipelines = compile.getPipelines();
  size_t count = descriptions.size() * pipelines.size(), index = 0;
  Progress progress(static_cast<int64_t>(count), forecast.taskSeconds);
  for (const ModelDescription &description : descriptions) {
    for (const PipelineVariant &pipeline : pipelines) {
      if (absl::Status status = checkInterruption(); !status.ok())
        return status;
      MeasureOptions own = options;
      PipelineOptions read;
      if (absl::Status status = readPipeline(pipeline.options, read); !status.ok())
        return status;
      if (absl::Status status = checkTypes(description, read.dtype); !status.ok())
        return status;
      own.compile.pipeline = pipeline.options;
      own.computeType = read.dtype;
      own.fusion = read.fusion;
      if (!pipeline.isTopType(read.dtype))
        own.peer = nullptr;
      bool hadPeer = own.peer && own.peer->getFailure().ok();
      if (!own.compile.dumpDir.empty() && count > 1)
        absl::StrAppend(&own.compile.dumpDir, "/", index);
      ++index;
      progress.start(
          describeModel({description, own.computeType, own.fusion, std::nullopt, {}, pipeline, std::nullopt}));
      std::optional<double> peak;
      if (!noMFU) {
        progress.update("peak of GEMMs", 0);
        absl::StatusOr<double> rate = peaks.get(description.dtype, own.computeType);
        if (rate.ok())
          peak = *rate;
        else if (getFailureText(rate.status()).empty())
          return rate.status();
      }
      progress.update("compiling", 0);
      absl::StatusOr<std::vector<Measurement>> measured = measureModel(
          description, own, [&](llvm::StringRef stage, double done) { progress.update(stage, done); },
          [&](llvm::StringRef warning) { progress.warn(warning); });
      if (!measured.ok())
        return measured.status();
      if (hadPeer && !own.peer->getFailure().ok())
        progress.warn(std::string(own.peer->getFailure().message()));
      absl::Status interrupted;
      for (Measurement &measurement : *measured) {
        if (absl::IsCancelled(measurement.status)) {
          interrupted = measurement.status;
          continue;
        }
        if (!measurement.status.ok() && getFailureText(measurement.status).empty())
          return measurement.status;
        if (std::optional<std::string> warning = describeMemoryMismatch(measurement))
          progress.warn(*warning);
        rows.push_back(
            {description, own.computeType, own.fusion, peak, std::move(measurement), pipeline, std::nullopt});
      }
      if (!interrupted.ok())
        return interrupted;
      if (absl::Status status = raisePeak(peaks, progress, rows); !status.ok())
        return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ModelCommand::profileAll(const MeasureOptions &options, PeakRates &peaks,
                                      std::vector<ModelRow> &rows) const {
  auto isToProfile = [](const ModelRow &row) { return row.measurement.executable != nullptr; };
  Progress progress(llvm::count_if(rows, isToProfile));
  for (ModelRow &row : rows) {
    if (!isToProfile(row))
      continue;
    if (absl::Status status = checkInterruption(); !status.ok())
      return status;
    progress.start("profile of " + describeModel(row));
    absl::Status status = profileModel(row.description, options, row.measurement,
                                       [&](llvm::StringRef stage, double done) { progress.update(stage, done); });
    if (!status.ok())
      return status;
    if (!profile.hasRoofline())
      continue;
    progress.update("rates of the device", 1);
    absl::StatusOr<Ceilings> ceilings = measureCeilings(*row.measurement.profile, peaks);
    if (!ceilings.ok())
      return ceilings.status();
    row.ceilings = *std::move(ceilings);
  }
  return absl::OkStatus();
}

absl::Status ModelCommand::writeTraceOf(llvm::ArrayRef<ModelRow> rows) const {
  llvm::StringRef path = profile.getTracePath().path;
  if (rows.empty() || !rows.front().measurement.trace)
    return absl::OkStatus();
  return writeTraceFile(*rows.front().measurement.trace, path, "cs336-bench");
}

absl::Status ModelCommand::writeTimelineOf(llvm::ArrayRef<ModelRow> rows, json::Object context) const {
  if (rows.empty() || !rows.front().measurement.timeline)
    return absl::OkStatus();
  context["target"] = device.kind == runtime::DeviceKind::kCuda ? "cuda" : "cpu";
  context["model"] = describeModel(rows.front());
  const std::optional<runtime::SessionMemory> &memory = rows.front().measurement.deviceMemory;
  context["device_bytes"] = memory ? json::Value(memory->used) : json::Value(nullptr);
  return timeline.write(*rows.front().measurement.timeline, std::move(context));
}

void ModelCommand::warnOfMissingFiles(llvm::ArrayRef<ModelRow> rows) const {
  if (!rows.empty() && rows.front().measurement.profile)
    return;
  std::vector<OutputPath> files = timeline.getPaths();
  files.push_back(profile.getTracePath());
  for (const OutputPath &file : files)
    if (!file.path.empty())
      llvm::WithColor::warning(llvm::errs(), "cs336-bench")
          << file.flag << ": '" << file.path << "' is not written, because no steps were profiled\n";
}

std::vector<ColumnHead> ModelCommand::getColumns() const {
  auto columns = getModelColumns({}, {}, perStep);
  return {columns.begin(), columns.end()};
}

absl::Status ModelCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = checkFlags(); !status.ok())
    return status;
  catchInterruptions();
  compile.setInterruption(checkInterruption);
  ModelDescription base;
  base.mode = includeOptimizer ? Mode::Train : backward ? Mode::ForwardBackward : Mode::Forward;
  absl::StatusOr<std::vector<ModelDescription>> descriptions = describeModels(model, base);
  if (!descriptions.ok())
    return descriptions.status();
  if (absl::Status status = checkCheckpoint(compile, *descriptions); !status.ok())
    return status;

  size_t cells = descriptions->size() * compile.getPipelines().size();
  if (cells != 1 && !profile.getTracePath().path.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "--trace requires one model, one --mode, --dtype, --fusion and --checkpoint, not ", cells, " cells"));
  if (absl::Status status = timeline.check(cells); !status.ok())
    return status;

  MeasureOptions options;
  options.device = runtime::ToString(device);
  options.warmups = warmups.empty() ? std::vector<int64_t>{5} : std::vector<int64_t>(warmups.begin(), warmups.end());
  options.steps = steps;
  options.timeline = timeline.areGiven();
  options.profile = profile.isProfiled() || options.timeline;
  options.trace = !profile.getTracePath().path.empty();
  json::Object described = describeDevice(device, numThreads);
  for (const char *name : {"processor", "gpu"})
    if (std::optional<llvm::StringRef> text = described.getString(name))
      options.deviceName = text->str();
  options.useGraphs = !noGraph;
  options.numThreads = numThreads;
  options.seed = seed;
  options.memoryLimitBytes = memoryLimit.getBytes();

  absl::StatusOr<std::unique_ptr<TorchPeer>> torch = startPeer(options);
  if (!torch.ok())
    return torch.status();
  options.peer = torch->get();
  if (options.peer && !options.peer->getFailure().ok())
    llvm::WithColor::warning(llvm::errs(), "cs336-bench") << std::string(options.peer->getFailure().message()) << "\n";
  InitialParameters parameters(*descriptions, compile.getPipelines().size(), seed);
  options.parameters = &parameters;

  std::vector<ModelRow> rows;
  absl::Status status = compile.compile(device, [&](const CompileOptions &compileOptions) -> absl::Status {
    options.compile = compileOptions;
    PeakRates peaks(options.compile, options.device, numThreads, seed);
    absl::StatusOr<Forecast> forecast = forecastModels(*descriptions, compile.getPipelines(), options, peaks);
    if (!forecast.ok())
      return forecast.status();
    if (peer.isGiven())
      forecast->timeBasis += "; PyTorch's time comes on top";
    if (forecastOnly) {
      llvm::outs() << json::Value(forecast->toJSON()) << "\n";
      return absl::OkStatus();
    }
    llvm::errs() << forecast->describe();
    if (absl::Status measured = measureAll(*descriptions, options, *forecast, peaks, rows); !measured.ok())
      return measured;
    return profileAll(options, peaks, rows);
  });
  if (forecastOnly)
    return status;
  if (!status.ok() && !absl::IsCancelled(status) && rows.empty())
    return status;
  size_t numMeasurements = cells * options.warmups.size();
  // A single cell without a program, unlike one that did not fit into the device.
  bool hasProgram = rows.empty() || rows.front().measurement.compileSeconds > 0;
  if (cells == 1 && !hasProgram)
    return rows.front().measurement.status;

  json::Object context{
      {"benchmark", "model"}, {"command", commandLine}, {"device", std::move(described)}, {"seed", seed.getValue()}};
  markIfIncomplete(context, status);
  Report report = makeModelReport(rows, context, perStep, profile.getLayout(), memoryTables);
  if (absl::Status written = output.write(published.addTo(std::move(report))); !written.ok())
    return written;
  if (absl::Status written = writeTimelineOf(rows, std::move(context)); !written.ok())
    return written;
  if (absl::Status written = writeTraceOf(rows); !written.ok())
    return written;
  warnOfMissingFiles(rows);
  for (const ModelRow &row : rows)
    if (row.measurement.profile)
      if (auto warning =
              findOverheadWarning(row.measurement.profiledMilliseconds, row.measurement.getUnprofiledMilliseconds()))
        llvm::WithColor::warning(llvm::errs(), "cs336-bench") << *warning << "\n";
  for (const ModelRow &row : rows)
    if (!row.measurement.status.ok())
      llvm::errs() << getFailureText(row.measurement.status) << ": " << describeSize(row.description.transformer)
                   << ", " << stringifyComputeType(row.computeType) << ", " << describeFusion(row.fusion, row.pipeline)
                   << ", " << stringifyMode(row.description.mode) << ": "
                   << std::string(row.measurement.status.message()) << "\n";
  if (!status.ok())
    return rows.size() == numMeasurements
               ? status
               : describeEarlyEnd(status, rows.size(), numMeasurements, "cells are left out");
  llvm::errs() << "next: --format json keeps every step's time; --warmup 0,1,2,5 shows what warming up does\n";
  if (options.peer && !options.peer->getFailure().ok())
    return makePeerMissing(options.peer->getFailure());
  return absl::OkStatus();
}
