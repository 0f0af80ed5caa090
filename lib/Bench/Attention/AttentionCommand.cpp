//===- AttentionCommand.cpp - cs336-bench attention -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionCommand.h"

#include "cs336/Bench/Attention/AttentionForecast.h"
#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Command/StepCounts.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Driver/Tool/ToolFlags.h"

#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "times attention alone, forward and backward";
static constexpr llvm::StringLiteral kVariants[] = {"naive", "compiled", "sdpa", "flash", "cudnn", "flex"};
/// The variants that compute scores alone.
static constexpr llvm::StringLiteral kScoreVariants[] = {"naive", "compiled"};

AttentionCommand::SizesFlag::SizesFlag(llvm::StringRef name, llvm::StringRef alias, llvm::StringRef description,
                                       int64_t value, AttentionCommand &command)
    : option(name, cl::desc(description), cl::value_desc("number,..."), cl::CommaSeparated,
             cl::cat(command.caseCategory), cl::sub(command.subcommand)),
      underscored(alias, cl::desc("as published scripts spell it"), cl::Hidden, cl::CommaSeparated,
                  cl::aliasopt(option)),
      preset(value) {}

std::vector<int64_t> AttentionCommand::SizesFlag::get() const {
  return option.empty() ? std::vector<int64_t>{preset} : std::vector<int64_t>(option.begin(), option.end());
}

absl::Status AttentionCommand::SizesFlag::check() const {
  constexpr int64_t kMost = int64_t(1) << 24;
  for (int64_t size : get())
    if (size < 1 || size > kMost)
      return absl::InvalidArgumentError(
          absl::StrCat("--", option.ArgStr.str(), " is ", size, ", must lie between 1 and ", kMost));
  return absl::OkStatus();
}

AttentionCommand::AttentionCommand()
    : subcommand("attention", kDescription), batchSizes("batch-size", "batch_size", "Sequences (default 8)", 8, *this),
      numHeads("num-heads", "n_heads", "Heads; 1 is attention without heads (default 1)", 1, *this),
      lengths("length", "context_length", "Positions of queries and of keys (default 1024)", 1024, *this),
      headDims("head-dim", "head_dim", "Width of a head (default 64)", 64, *this),
      masks("mask", cl::desc("Keys that are visible to a query; a list measures both (default full)"),
            cl::values(clEnumValN(Mask::Full, "full", "all"),
                       clEnumValN(Mask::Causal, "causal", "keys up to the position of the query")),
            cl::CommaSeparated, cl::cat(caseCategory), cl::sub(subcommand)),
      scores(
          "score",
          cl::desc("Score functions between scale and softmax; those of a list with commas are measured side by side "
                   "(default: plain, which is none). window:N shows the last N keys up to the query, and cached:N has "
                   "no queries for the first N keys; both require --mask causal. alibi adds slope(head) * (key - "
                   "query), relative:N adds a number by head and by the distance from query to key, at most N, "
                   "softcap:X is X * tanh(score / X), documents:N hides the keys of the other of N documents of equal "
                   "length"),
          cl::value_desc("plain,window:N,..."), cl::CommaSeparated, cl::cat(caseCategory), cl::sub(subcommand)),
      parts("part",
            cl::desc("Part of attention to measure; the parts of a list with commas are measured side by side "
                     "(default: whole)"),
            cl::values(clEnumValN(AttentionCase::Part::Whole, "whole", "all of it"),
                       clEnumValN(AttentionCase::Part::Scores, "scores", "the softmax of scores, without values")),
            cl::CommaSeparated, cl::cat(caseCategory), cl::sub(subcommand)),
      tiles(
          "tiles",
          cl::desc("Tiles of scores in a block of the GPU, queries x keys or one number for both, multiples of 16 from "
                   "16 to 256; those of a list with commas are measured side by side, and one that does not fit into "
                   "shared memory has a row with both numbers (default: the fastest known)"),
          cl::value_desc("64x32,..."), cl::CommaSeparated, cl::cat(caseCategory), cl::sub(subcommand)),
      compileOnly("compile-only",
                  cl::desc("Compile the kernels and do not run them: shared memory and registers instead of times. "
                           "Requires no GPU"),
                  cl::cat(category), cl::sub(subcommand)),
      warmup("warmup", cl::desc("Steps before the timed ones (default 5)"), cl::value_desc("number"), cl::init(5),
             cl::cat(category), cl::sub(subcommand)),
      warmupAlias("warmup_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::aliasopt(warmup)),
      steps("steps", cl::desc("Timed steps of each pass (default 100)"), cl::value_desc("number"), cl::init(100),
            cl::cat(category), cl::sub(subcommand)),
      stepsAlias("n_steps", cl::desc("as published scripts spell it"), cl::Hidden, cl::aliasopt(steps)),
      device(category, subcommand),
      numThreads("num-threads", cl::desc("Threads of one command; 0 is one per core (default)"),
                 cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of queries, keys and values (default 0)"), cl::value_desc("number"), cl::init(0),
           cl::cat(category), cl::sub(subcommand)),
      memoryLimit("Maximum memory of a pass, e.g. 40GiB; a cell that needs more is 'OOM'", category, subcommand),
      peer(kVariants,
           "Compare with PyTorch on the same tensors: torch, or torch:VARIANT,... with variants naive (default), "
           "compiled, sdpa (PyTorch's choice), flash, cudnn, flex. With --ladder, beside the rungs in --dtype",
           category, subcommand),
      noGraph(category, subcommand), noMFU("no-mfu", cl::desc("Do not time the dense GEMM to which MFU refers"),
                                           cl::cat(category), cl::sub(subcommand)),
      forecastOnly(category, subcommand), output(category, subcommand), published(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::Yes) {}

void AttentionCommand::hideOtherOptions() { hideOtherFlags({&category, &caseCategory}, subcommand); }

absl::Status AttentionCommand::checkFlags() const {
  for (const SizesFlag *flag : {&batchSizes, &numHeads, &lengths, &headDims})
    if (absl::Status status = flag->check(); !status.ok())
      return status;
  if (absl::Status status = checkStepCounts(steps, warmup.getValue()); !status.ok())
    return status;
  if (numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", numThreads.getValue(), ", must not be negative"));
  if (absl::Status status = peer.check(); !status.ok())
    return status;
  if (llvm::is_contained(parts, AttentionCase::Part::Scores))
    for (const std::string &variant : peer.getVariants())
      if (!llvm::is_contained(kScoreVariants, variant))
        return absl::InvalidArgumentError(
            absl::StrCat("--part scores conflicts with torch:", variant, ", which computes whole attention"));
  if (absl::Status status = checkScores(); !status.ok())
    return status;
  if (absl::Status status = checkTiles(); !status.ok())
    return status;
  if (absl::Status status = checkCompileOnly(); !status.ok())
    return status;
  if (absl::Status status = noGraph.check(device); !status.ok())
    return status;
  if (absl::Status status = memoryLimit.check(); !status.ok())
    return status;
  if (absl::Status status = published.check(); !status.ok())
    return status;
  if (absl::Status status = output.check(getAttentionColumns({}, peer.getVariants())); !status.ok())
    return status;
  if (absl::Status status = compile.checkOutputs({output.getPath()}); !status.ok())
    return status;
  if (absl::Status status = compile.refuseCheckpoint("attention alone has no layers"); !status.ok())
    return status;
  return compile.check(device);
}

absl::Status AttentionCommand::checkScores() const {
  for (const std::string &score : scores)
    if (absl::StatusOr<AttentionScore> parsed = parseScore(score); !parsed.ok())
      return parsed.status();
  for (const AttentionCase &attention : getCases())
    if (absl::Status status = attention.score.form->check(attention); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status AttentionCommand::checkTiles() const {
  if (tiles.empty())
    return absl::OkStatus();
  for (const std::string &tile : tiles)
    if (absl::StatusOr<cuda::ScoreTile> parsed = parseTile(tile); !parsed.ok())
      return parsed.status();
  if (device.getValue().kind != runtime::DeviceKind::kCuda)
    return absl::InvalidArgumentError("--tiles requires --device cuda: kernels of CPUs have no tiles in shared memory. "
                                      "Without a GPU, --compile-only shows which tiles fit");
  if (compile.tunesSchedules())
    return absl::InvalidArgumentError(
        "--tiles conflicts with --autotune, which chooses the tiles: give one of the two");
  if (llvm::is_contained(parts, AttentionCase::Part::Scores))
    return absl::InvalidArgumentError("--tiles conflicts with --part scores, which has no kernel with tiles");
  for (const PipelineVariant &variant : compile.getPipelines()) {
    PipelineOptions pipeline;
    if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
      return status;
    if (!variant.ladder.empty() || !pipeline.fuses(Fusion::Flash))
      return absl::InvalidArgumentError(
          "--tiles requires --fusion flash or all, and conflicts with --ladder: only fused attention has tiles");
    if (!pipeline.extraAfterLowering.getValue().empty())
      return absl::InvalidArgumentError("--tiles conflicts with 'extra-after-lowering' in --pipeline-options, which it "
                                        "sets: run cuda-tile-attention among those passes instead");
  }
  return absl::OkStatus();
}

absl::Status AttentionCommand::checkCompileOnly() const {
  if (!compileOnly)
    return absl::OkStatus();
  if (device.getValue().kind != runtime::DeviceKind::kCuda)
    return absl::InvalidArgumentError("--compile-only requires --device cuda: it shows resources of GPUs");
  if (peer.isGiven())
    return absl::InvalidArgumentError("--compile-only conflicts with --peer: nothing is measured");
  return absl::OkStatus();
}

std::vector<AttentionScore> AttentionCommand::getScores() const {
  if (scores.empty())
    return {AttentionScore()};
  // checkScores has rejected others.
  auto parsed = llvm::map_range(scores, [](const std::string &score) { return *parseScore(score); });
  return {parsed.begin(), parsed.end()};
}

std::vector<std::optional<cuda::ScoreTile>> AttentionCommand::getTiles() const {
  if (tiles.empty())
    return {std::nullopt};
  // checkTiles has rejected others.
  auto parsed = llvm::map_range(tiles, [](const std::string &tile) { return std::optional(*parseTile(tile)); });
  return {parsed.begin(), parsed.end()};
}

std::vector<PipelineVariant> AttentionCommand::getTiledPipelines() const {
  std::vector<PipelineVariant> pipelines;
  for (const PipelineVariant &variant : compile.getPipelines())
    pipelines.insert(pipelines.end(), getTiles().size(), variant);
  return pipelines;
}

std::vector<AttentionCase> AttentionCommand::getCases() const {
  std::vector<Mask> wanted(masks.begin(), masks.end());
  if (wanted.empty())
    wanted.push_back(Mask::Full);
  std::vector<AttentionCase::Part> wantedParts(parts.begin(), parts.end());
  if (wantedParts.empty())
    wantedParts.push_back(AttentionCase::Part::Whole);
  std::vector<AttentionScore> wantedScores = getScores();
  std::vector<AttentionCase> cases;
  for (int64_t batch : batchSizes.get())
    for (int64_t heads : numHeads.get())
      for (int64_t headDim : headDims.get())
        for (int64_t length : lengths.get())
          for (Mask mask : wanted)
            for (const AttentionScore &score : wantedScores)
              for (AttentionCase::Part part : wantedParts)
                cases.push_back({batch, heads, length, headDim, mask == Mask::Causal, ComputeType::FP32, part, score});
  return cases;
}

absl::StatusOr<std::optional<double>> AttentionCommand::getPeak(ComputeType type, PeakRates &peaks,
                                                                Progress &progress) const {
  if (noMFU || compileOnly)
    return std::nullopt;
  progress.update("peak of GEMMs", 0);
  absl::StatusOr<double> rate = peaks.get(BuildType::F32, type);
  if (rate.ok())
    return *rate;
  if (getFailureText(rate.status()).empty())
    return rate.status();
  return std::nullopt;
}

/// Measures the peak again if the last row exceeds it, and updates the rows of the same type.
static absl::Status raisePeak(PeakRates &peaks, Progress &progress, std::vector<AttentionRow> &rows) {
  const AttentionRow &last = rows.back();
  if (!last.peakRate || getHighestRate(last) <= *last.peakRate)
    return absl::OkStatus();
  progress.update("peak of GEMMs again", 1);
  ComputeType type = last.attention.computeType;
  absl::StatusOr<double> rate = peaks.getAbove(BuildType::F32, type, getHighestRate(last));
  if (!rate.ok())
    return rate.status();
  for (AttentionRow &row : rows)
    if (row.peakRate && row.attention.computeType == type)
      row.peakRate = *rate;
  return absl::OkStatus();
}

absl::Status AttentionCommand::measureOne(AttentionCase attention, const PipelineVariant &variant,
                                          std::optional<cuda::ScoreTile> tile, const AttentionOptions &options,
                                          PeakRates &peaks, Progress &progress, std::vector<AttentionRow> &rows) const {
  PipelineOptions pipeline;
  if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
    return status;
  AttentionOptions own = options;
  own.compile.pipeline = variant.options;
  own.fusion = pipeline.fusion;
  own.tile = tile;
  attention.computeType = pipeline.dtype;
  if (!variant.isTopType(pipeline.dtype))
    own.peer = nullptr;
  bool hadPeer = own.peer && own.peer->getFailure().ok();
  bool isAbove = !variant.added.empty() && variant.added != "none";
  own.below = isAbove && rows.back().attention.computeType == pipeline.dtype ? &rows.back().measurement : nullptr;
  if (!own.compile.dumpDir.empty())
    absl::StrAppend(&own.compile.dumpDir, "/", rows.size());
  progress.start(describeAttention(attention, own.fusion, variant, tile));
  absl::StatusOr<std::optional<double>> peak = getPeak(pipeline.dtype, peaks, progress);
  if (!peak.ok())
    return peak.status();
  absl::StatusOr<AttentionMeasurement> measurement = measureAttention(
      attention, own, [&](llvm::StringRef stage, double done) { progress.update(stage, done); },
      [&](llvm::StringRef warning) { progress.warn(warning); });
  if (!measurement.ok())
    return measurement.status();
  if (hadPeer && !own.peer->getFailure().ok())
    progress.warn(std::string(own.peer->getFailure().message()));
  rows.push_back({attention, own.fusion, own.warmup, own.steps, *std::move(measurement), variant, tile, *peak});
  return raisePeak(peaks, progress, rows);
}

absl::Status AttentionCommand::measureAll(const AttentionOptions &options, const Forecast &forecast, PeakRates &peaks,
                                          std::vector<AttentionRow> &rows) const {
  std::vector<AttentionCase> cases = getCases();
  std::vector<PipelineVariant> pipelines = compile.getPipelines();
  std::vector<std::optional<cuda::ScoreTile>> wanted = getTiles();
  Progress progress(static_cast<int64_t>(cases.size() * pipelines.size() * wanted.size()), forecast.taskSeconds);
  for (const AttentionCase &attention : cases)
    for (const PipelineVariant &variant : pipelines)
      for (std::optional<cuda::ScoreTile> tile : wanted) {
        if (absl::Status status = checkInterruption(); !status.ok())
          return status;
        if (absl::Status status = measureOne(attention, variant, tile, options, peaks, progress, rows); !status.ok())
          return status;
      }
  return absl::OkStatus();
}

std::vector<ColumnHead> AttentionCommand::getColumns() const {
  auto columns = getAttentionColumns({}, {});
  return {columns.begin(), columns.end()};
}

absl::Status AttentionCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = checkFlags(); !status.ok())
    return status;
  catchInterruptions();
  compile.setInterruption(checkInterruption);
  AttentionOptions options;
  options.warmup = warmup;
  options.steps = steps;
  options.device = runtime::ToString(device);
  options.numThreads = numThreads;
  options.seed = seed;
  options.memoryLimitBytes = memoryLimit.getBytes();
  options.useGraphs = !noGraph;
  options.compileOnly = compileOnly;
  if (compileOnly)
    options.warmup = options.steps = 0;
  std::unique_ptr<AttentionPeer> torch;
  if (peer.isGiven() && !forecastOnly) {
    PeerOptions peerOptions = peer.getOptions();
    peerOptions.device = options.device;
    peerOptions.numThreads = numThreads;
    peerOptions.warmup = warmup;
    peerOptions.steps = steps;
    absl::StatusOr<std::unique_ptr<AttentionPeer>> started = AttentionPeer::start(peerOptions);
    if (!started.ok())
      return started.status();
    torch = *std::move(started);
    options.peer = torch.get();
    if (!torch->getFailure().ok())
      llvm::WithColor::warning(llvm::errs(), "cs336-bench") << std::string(torch->getFailure().message()) << "\n";
  }

  std::vector<AttentionRow> rows;
  absl::Status status = compile.compile(device, [&](const CompileOptions &compileOptions) -> absl::Status {
    options.compile = compileOptions;
    PeakRates rates(options.compile, options.device, numThreads, seed);
    absl::StatusOr<Forecast> forecast = forecastAttention(getCases(), getTiledPipelines(), options, rates);
    if (!forecast.ok())
      return forecast.status();
    if (peer.isGiven())
      forecast->timeBasis += "; PyTorch's time comes on top";
    if (forecastOnly) {
      llvm::outs() << json::Value(forecast->toJSON()) << "\n";
      return absl::OkStatus();
    }
    llvm::errs() << forecast->describe();
    return measureAll(options, *forecast, rates, rows);
  });
  if (forecastOnly)
    return status;
  if (!status.ok() && !absl::IsCancelled(status) && rows.empty())
    return status;
  size_t cells = getCases().size() * getTiledPipelines().size();
  json::Object context{{"benchmark", "attention"},
                       {"command", commandLine},
                       {"device", describeDevice(device, numThreads)},
                       {"seed", seed.getValue()}};
  markIfIncomplete(context, status);
  Report report = makeAttentionReport(rows, std::move(context));
  if (absl::Status written = output.write(published.addTo(std::move(report))); !written.ok())
    return written;
  for (const AttentionRow &row : rows)
    if (!row.measurement.backwardStatus.ok())
      llvm::errs() << getAttentionFailureText(row.measurement.backwardStatus) << ": "
                   << describeAttention(row.attention, row.fusion, row.pipeline, row.tile) << ": "
                   << std::string(row.measurement.backwardStatus.message()) << "\n";
  if (!status.ok())
    return describeEarlyEnd(status, rows.size(), cells, "cells are left out");
  llvm::errs() << "next: --fusion none,all or --ladder shows what each pass brings; --format json keeps every "
                  "step's time\n";
  if (torch && !torch->getFailure().ok())
    return makePeerMissing(torch->getFailure());
  return absl::OkStatus();
}
