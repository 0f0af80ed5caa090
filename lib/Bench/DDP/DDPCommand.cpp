//===- DDPCommand.cpp - cs336-bench ddp -----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/DDPCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Command/StepCounts.h"
#include "cs336/Bench/DDP/RankRun.h"
#include "cs336/Bench/Model/TorchPeer.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Profile/TraceOutput.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Flags/OutputFile.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "times training steps of several ranks";

static constexpr llvm::StringLiteral kVariants[] = {"ddp",  "ddp-compile", "graphs-flat", "graphs-flat-bf16",
                                                    "zero", "fsdp"};

DDPCommand::DDPCommand(std::string program)
    : program(std::move(program)), subcommand("ddp", kDescription), model(modelCategory, subcommand),
      distributions({Distribution::None, Distribution::Bucket},
                    "Modes of exchange, measured side by side (default none,bucket)", category, subcommand),
      ranks("ranks", cl::desc("Numbers of ranks, which are processes (default: the number of GPUs, or 2 on the CPU)"),
            cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      processes("nproc", cl::desc("Alias of --ranks"), cl::Hidden, cl::CommaSeparated, cl::aliasopt(ranks)),
      warmup("warmup", cl::desc("Steps before the timed ones (default 5)"), cl::value_desc("number"), cl::init(5),
             cl::cat(category), cl::sub(subcommand)),
      steps("steps", cl::desc("Timed steps (default 10)"), cl::value_desc("number"), cl::init(10), cl::cat(category),
            cl::sub(subcommand)),
      device(category, subcommand),
      numThreads("num-threads", cl::desc("Threads of each rank; 0 is one per core of its share (default)"),
                 cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of parameters and tokens (default 0)"), cl::value_desc("number"), cl::init(0),
           cl::cat(category), cl::sub(subcommand)),
      memoryLimit("Maximum memory of a rank, e.g. 40GiB; a cell that needs more is 'OOM'", category, subcommand),
      timeout("rank-timeout",
              cl::desc("Seconds in which the ranks of a cell end after one fails or hangs (default 30)"),
              cl::value_desc("number"), cl::init(30), cl::cat(category), cl::sub(subcommand)),
      exchange(category, subcommand),
      peer(kVariants,
           "Compare with PyTorch on the same parameters and tokens: torch, or torch:VARIANT,... with variants ddp "
           "(default), ddp-compile, graphs-flat, graphs-flat-bf16, zero, fsdp",
           category, subcommand),
      noProfile("no-profile", cl::desc("Do not run the steps again under a profiler, which times communication"),
                cl::cat(category), cl::sub(subcommand)),
      memoryTables("memory-tables",
                   cl::desc("A table of each rank's memory by kind: before the first step, at the peak, and before and "
                            "after the optimizer"),
                   cl::cat(category), cl::sub(subcommand)),
      trace("trace", cl::desc("Timeline of all ranks of the last cell, for ui.perfetto.dev"), cl::value_desc("file"),
            cl::cat(category), cl::sub(subcommand)),
      asRank("as-rank", cl::desc("Run as a rank of the job in this file, which the launcher wrote"),
             cl::value_desc("file"), cl::ReallyHidden, cl::sub(subcommand)),
      output(category, subcommand), compile(category, subcommand, CompileFlags::Sweep::Yes) {}

void DDPCommand::hideOtherOptions() { hideOtherFlags({&category, &modelCategory}, subcommand); }

std::vector<ColumnHead> DDPCommand::getColumns() const {
  std::vector<Column<DDPRow>> columns = getDDPColumns({});
  return {columns.begin(), columns.end()};
}

absl::Status DDPCommand::check() const {
  if (absl::Status status = checkStepCounts(steps, warmup.getValue()); !status.ok())
    return status;
  if (numThreads < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--num-threads is ", numThreads.getValue(), ", must not be negative"));
  if (timeout <= 0)
    return absl::InvalidArgumentError(absl::StrCat("--rank-timeout is ", timeout.getValue(), ", must be above 0"));
  constexpr int kMostRanks = 1024;
  for (int number : ranks)
    if (number < 1 || number > kMostRanks)
      return absl::InvalidArgumentError(absl::StrCat("--ranks is ", number, ", must be from 1 to ", kMostRanks));
  if (absl::Status status = distributions.check(); !status.ok())
    return status;
  if (!distributions.haveExchange())
    if (absl::Status status = refuseFlag(ranks, "--distribute none is one rank"); !status.ok())
      return status;
  bool areAllAlone = !ranks.empty() && llvm::all_of(ranks, [](int number) { return number == 1; });
  if (areAllAlone && distributions.areGiven() && distributions.haveExchange())
    return absl::InvalidArgumentError("--ranks is 1: a rank alone exchanges nothing; pass 2 or more, or leave out "
                                      "--distribute");
  if (device.getValue().ordinal != 0)
    return absl::InvalidArgumentError(absl::StrCat("--device is ", runtime::ToString(device),
                                                   ": pass cuda; each rank takes the GPU of its number, and "
                                                   "CUDA_VISIBLE_DEVICES selects GPUs"));
  if (absl::Status status = exchange.check(device); !status.ok())
    return status;
  if (noProfile && !trace.empty())
    return absl::InvalidArgumentError("--trace conflicts with --no-profile: it writes the profile");
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = memoryLimit.check(); !status.ok())
    return status;
  if (absl::Status status = peer.check(); !status.ok())
    return status;
  if (absl::Status status = output.check(getDDPColumns({})); !status.ok())
    return status;
  if (absl::Status status = checkOutputFile("--trace", trace); !status.ok())
    return status;
  return compile.checkOutputs({output.getPath(), {"--trace", trace}});
}

absl::StatusOr<std::vector<int>> DDPCommand::getRanks() const {
  std::vector<int> numbers(ranks.begin(), ranks.end());
  if (device.getValue().kind != runtime::DeviceKind::kCuda) {
    constexpr int kDefaultRanks = 2;
    return numbers.empty() ? std::vector{kDefaultRanks} : numbers;
  }
  absl::StatusOr<runtime::CudaInfo> info = runtime::QueryCuda();
  if (!info.ok())
    return info.status();
  auto gpus = static_cast<int>(info->devices.size());
  for (int number : numbers)
    if (number > gpus)
      return absl::InvalidArgumentError(
          absl::StrCat("--ranks is ", number, ", and this host has ", gpus, " GPUs: each rank needs one"));
  return numbers.empty() ? std::vector{gpus} : numbers;
}

absl::StatusOr<std::vector<DDPRow>> DDPCommand::getCells() const {
  ModelDescription base;
  base.mode = Mode::Train;
  absl::StatusOr<std::vector<ModelDescription>> descriptions = describeModels(model, base);
  if (!descriptions.ok())
    return descriptions.status();
  for (const ModelDescription &description : *descriptions)
    if (description.mode != Mode::Train)
      return absl::InvalidArgumentError(absl::StrCat("--mode is ", stringifyMode(description.mode).str(),
                                                     ", must be train: ddp measures training steps"));
  absl::StatusOr<std::vector<int>> numbers = getRanks();
  if (!numbers.ok())
    return numbers.status();
  std::vector<ExchangeVariant> exchanges = distributions.getVariants();
  auto isBaseline = [](const ExchangeVariant &exchange) { return exchange.mode == Distribution::None; };
  bool hasBaseline = llvm::any_of(exchanges, isBaseline) || llvm::is_contained(*numbers, 1);

  std::vector<DDPRow> cells;
  for (const ModelDescription &description : *descriptions)
    for (const PipelineVariant &pipeline : compile.getPipelines()) {
      PipelineOptions read;
      if (absl::Status status = readPipeline(pipeline.options, read); !status.ok())
        return status;
      if (absl::Status status = checkTypes(description, read.dtype); !status.ok())
        return status;
      if (read.worldSize != 1)
        return absl::InvalidArgumentError(
            "--pipeline-options: world-size conflicts with --ranks, which sets it: leave it out");
      if (absl::Status status = checkPeerOptimizer(description); peer.isGiven() && !status.ok())
        return status;
      DDPRow cell{description, read.dtype, read.fusion, pipeline};
      if (hasBaseline)
        cells.push_back(cell);
      for (int number : *numbers)
        for (const ExchangeVariant &exchange : exchanges) {
          if (number == 1 || isBaseline(exchange))
            continue;
          cell.ranks = number;
          cell.exchange = exchange;
          cells.push_back(cell);
        }
    }
  return cells;
}

DDPOptions DDPCommand::getOptions() const {
  DDPOptions options;
  options.program = program;
  RankJob &job = options.job;
  job.device = device.getValue().kind == runtime::DeviceKind::kCuda ? "cuda" : "cpu";
  job.numThreads = numThreads;
  job.seed = static_cast<int64_t>(seed.getValue());
  job.memoryLimitBytes = memoryLimit.getBytes();
  job.warmup = warmup;
  job.steps = steps;
  job.timeoutSeconds = timeout;
  job.exchange = exchange;
  job.profile = !noProfile;
  job.trace = !trace.empty();
  return options;
}

absl::StatusOr<std::unique_ptr<DDPPeer>> DDPCommand::startPeer() const {
  if (!peer.isGiven())
    return nullptr;
  absl::StatusOr<std::unique_ptr<DDPPeer>> started = DDPPeer::start(peer.getOptions());
  if (started.ok() && !(*started)->getFailure().ok())
    llvm::WithColor::warning(llvm::errs(), "cs336-bench") << std::string((*started)->getFailure().message()) << "\n";
  return started;
}

/// Returns true if ranks have measured the cell's case, also with other fusion and other modes of exchange. They have
/// the same parameters and batches, which are in files if there is a peer.
static bool isMeasured(llvm::ArrayRef<DDPRow> rows, const DDPRow &cell) {
  return llvm::any_of(rows, [&](const DDPRow &row) {
    return row.peer.empty() && row.ranks == cell.ranks && isSameModel(row, cell) && row.measurement.status.ok();
  });
}

/// Measures the peer's variants on as many ranks as the last row, unless that was done: fusion and modes of exchange
/// make no difference to the peer.
static absl::Status measurePeer(DDPPeer &peer, const RankJob &job, Progress &progress, std::vector<DDPRow> &rows) {
  DDPRow cell = rows.back();
  bool isDone = llvm::any_of(
      rows, [&](const DDPRow &row) { return !row.peer.empty() && row.ranks == cell.ranks && isSameModel(row, cell); });
  if (isDone || !isMeasured(rows, cell))
    return absl::OkStatus();
  cell.exchange.bucketMiB = std::nullopt;
  for (const std::string &variant : peer.getVariants()) {
    progress.update("PyTorch: " + variant, 1);
    cell.peer = variant;
    absl::StatusOr<DDPMeasurement> measured =
        peer.measure(variant, cell.description, cell.computeType, cell.ranks, job);
    if (!measured.ok())
      return measured.status();
    cell.measurement = *std::move(measured);
    rows.push_back(cell);
  }
  return absl::OkStatus();
}

absl::Status DDPCommand::measureAll(std::vector<DDPRow> cells, const CompileOptions &compileOptions, DDPPeer *torch,
                                    std::vector<DDPRow> &rows, CellTrace &traced) const {
  absl::StatusOr<std::unique_ptr<DDPBenchmark>> benchmark = DDPBenchmark::create(getOptions());
  if (!benchmark.ok())
    return benchmark.status();
  Progress progress(static_cast<int64_t>(cells.size()));
  for (auto [index, cell] : llvm::enumerate(cells)) {
    if (absl::Status status = checkInterruption(); !status.ok())
      return status;
    progress.start(describeRow(cell));
    CompileOptions own = compileOptions;
    own.pipeline = cell.pipeline.options + cell.exchange.getPipelineOptions(cell.ranks);
    if (!own.dumpDir.empty() && cells.size() > 1)
      absl::StrAppend(&own.dumpDir, "/", index);
    (*benchmark)->setGive(torch && !isMeasured(rows, cell));
    double done = 0;
    cell.measurement = (*benchmark)
                           ->measure(
                               cell.description, own, cell.ranks,
                               [&](llvm::StringRef stage) {
                                 progress.update(stage, done);
                                 done = 0.5;
                               },
                               [&](llvm::StringRef warning) { progress.warn(warning); });
    if (absl::IsCancelled(cell.measurement.status))
      return cell.measurement.status;
    if (cell.measurement.status.ok())
      traced = {describeRow(cell), (*benchmark)->takeTraces()};
    rows.push_back(std::move(cell));
    const DDPRow *next = index + 1 < cells.size() ? &cells[index + 1] : nullptr;
    bool isLastOfCase = !next || next->ranks != rows.back().ranks || !isSameModel(*next, rows.back());
    if (torch && isLastOfCase)
      if (absl::Status status = measurePeer(*torch, (*benchmark)->getJob(), progress, rows); !status.ok())
        return status;
  }
  return absl::OkStatus();
}

absl::Status DDPCommand::writeTraceOf(const CellTrace &traced, llvm::StringRef last) const {
  if (trace.empty())
    return absl::OkStatus();
  if (traced.ranks.empty()) {
    llvm::WithColor::warning(llvm::errs(), "cs336-bench")
        << "--trace: '" << trace << "' is not written, because no cell completed its steps\n";
    return absl::OkStatus();
  }
  if (traced.cell != last)
    llvm::WithColor::warning(llvm::errs(), "cs336-bench")
        << "--trace: '" << trace << "' has the last cell that completed its steps, " << traced.cell << ", not " << last
        << "\n";
  return writeTraceFile(traced.ranks, trace, "cs336-bench");
}

absl::Status DDPCommand::runAsRank() const {
  absl::StatusOr<RankJob> job = readRankJob(asRank);
  if (!job.ok())
    return job.status();
  absl::StatusOr<std::optional<runtime::RankEnvironment>> place = runtime::ReadRankEnvironment();
  if (!place.ok())
    return place.status();
  return runRankJob(*job, *place);
}

absl::Status DDPCommand::run(llvm::StringRef commandLine) {
  if (!asRank.empty())
    return runAsRank();
  if (absl::Status status = check(); !status.ok())
    return status;
  absl::StatusOr<std::vector<DDPRow>> cells = getCells();
  if (!cells.ok())
    return cells.status();
  size_t count = cells->size();
  if (count == 0)
    return absl::InvalidArgumentError("there is nothing to measure: --distribute none is one rank, and the other modes "
                                      "need --ranks of 2 or more");

  catchInterruptions();
  compile.setInterruption(checkInterruption);
  absl::StatusOr<std::unique_ptr<DDPPeer>> torch = startPeer();
  if (!torch.ok())
    return torch.status();
  std::string last = describeRow(cells->back());
  std::vector<DDPRow> rows;
  CellTrace traced;
  absl::Status status = compile.compile(device, [&](const CompileOptions &compileOptions) {
    return measureAll(*std::move(cells), compileOptions, torch->get(), rows, traced);
  });
  if (!status.ok() && rows.empty())
    return status;
  json::Object context{{"benchmark", "ddp"},
                       {"command", commandLine},
                       {"device", describeDevice(device, numThreads)},
                       {"seed", seed.getValue()}};
  markIfIncomplete(context, status);
  if (absl::Status written = output.write(makeDDPReport(rows, std::move(context), memoryTables)); !written.ok())
    return written;
  if (absl::Status written = writeTraceOf(traced, last); !written.ok())
    return written;
  size_t failed = 0, measured = 0;
  for (const DDPRow &row : rows) {
    measured += row.peer.empty();
    if (const absl::Status &reason = row.measurement.status; !reason.ok()) {
      llvm::StringRef text = getFailureText(reason);
      failed += text.empty() && row.peer.empty();
      llvm::errs() << (text.empty() ? "failed" : text) << ": " << describeRow(row) << ": "
                   << std::string(reason.message()) << "\n";
    }
  }
  if (absl::IsCancelled(status) && measured == count)
    return absl::CancelledError(absl::StrCat(std::string(status.message()), " while --peer was measured"));
  if (!status.ok())
    return absl::IsCancelled(status) ? describeEarlyEnd(status, measured, count, "cells are left out") : status;
  if (failed > 0)
    return absl::AbortedError(absl::StrCat(failed, " of ", count, " cells failed; the reasons are above"));
  if (*torch && !(*torch)->getFailure().ok())
    return makePeerMissing((*torch)->getFailure());
  return absl::OkStatus();
}
