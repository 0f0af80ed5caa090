//===- DDPBenchmark.cpp - Times of steps on several ranks -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/DDPBenchmark.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Bench/Timing/Stopwatch.h"
#include "cs336/Driver/Run/RankTraceFile.h"
#include "cs336/Support/WriteOutput.h"
#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Launcher.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

/// Returns the longest time of each step.
static std::vector<double> getSlowest(llvm::ArrayRef<RankResult> results, std::vector<double> RankResult::*times) {
  std::vector<double> slowest = results.front().*times;
  for (const RankResult &result : results.drop_front())
    for (auto [most, time] : llvm::zip(slowest, result.*times))
      most = std::max(most, time);
  return slowest;
}

/// Returns the mean of a value over ranks, and widens `spread` to its largest difference. If any rank's value is NaN,
/// the spread is NaN, because NaN equals no value.
static double getMean(llvm::ArrayRef<RankResult> results, double RankResult::*value, double &spread) {
  double sum = 0, least = results.front().*value, most = least;
  for (const RankResult &result : results) {
    sum += result.*value;
    least = std::min(least, result.*value);
    most = std::max(most, result.*value);
  }
  double difference = std::isnan(sum) ? sum : most - least;
  if (!std::isnan(spread) && !(difference <= spread))
    spread = difference;
  return most == least ? most : sum / static_cast<double>(results.size());
}

void cs336::bench::mergeResults(llvm::ArrayRef<RankResult> results, DDPMeasurement &measurement) {
  measurement.stepMilliseconds = getSlowest(results, &RankResult::stepMilliseconds);
  measurement.deviceMilliseconds = getSlowest(results, &RankResult::deviceMilliseconds);
  measurement.loss = getMean(results, &RankResult::loss, measurement.spread);
  measurement.gradNorm = getMean(results, &RankResult::gradNorm, measurement.spread);
  measurement.lastLoss = getMean(results, &RankResult::lastLoss, measurement.spread);
  DDPMeasurement::Times times;
  bool isProfiled = true;
  double meanExposed = 0;
  for (const RankResult &result : results) {
    measurement.joinSeconds = std::max(measurement.joinSeconds.value_or(0), result.joinSeconds);
    measurement.loadSeconds = std::max(measurement.loadSeconds.value_or(0), result.loadSeconds);
    if (result.deviceMemoryBytes)
      measurement.deviceMemoryBytes = std::max(measurement.deviceMemoryBytes.value_or(0), *result.deviceMemoryBytes);
    if (!result.profileNote.empty())
      measurement.profileNote = result.profileNote;
    isProfiled &= result.overlap && result.gatherWaits && !result.profiledMilliseconds.empty();
    if (!isProfiled)
      continue;
    auto steps = static_cast<double>(result.profiledMilliseconds.size()) * static_cast<double>(results.size());
    auto add = [&](double &sum, int64_t nanoseconds) { sum += static_cast<double>(nanoseconds) * 1e-6 / steps; };
    add(times.communication, result.overlap->communication);
    add(times.compute, result.overlap->compute);
    add(meanExposed, result.overlap->exposed);
    add(times.gatherWait, result.gatherWaits->waited);
    times.lateGathers += static_cast<double>(result.gatherWaits->late) / steps;
    for (double milliseconds : result.profiledMilliseconds)
      times.step += milliseconds / steps;
  }
  if (!isProfiled)
    return;
  // The other ranks also wait for the rank that waits least.
  times.exposed = std::numeric_limits<double>::infinity();
  for (const RankResult &result : results)
    times.exposed = std::min(times.exposed, static_cast<double>(result.overlap->exposed) * 1e-6 /
                                                static_cast<double>(result.profiledMilliseconds.size()));
  times.imbalance = meanExposed - times.exposed;
  measurement.times = times;
}

absl::StatusOr<std::unique_ptr<DDPBenchmark>> DDPBenchmark::create(DDPOptions options) {
  absl::StatusOr<std::unique_ptr<JobFolder>> folder = JobFolder::create();
  if (!folder.ok())
    return folder.status();
  options.job.folder = (*folder)->getPath();
  return std::unique_ptr<DDPBenchmark>(new DDPBenchmark(std::move(options), *std::move(folder)));
}

absl::Status DDPBenchmark::compile(const ModelDescription &description, const CompileOptions &compile,
                                   llvm::function_ref<void(llvm::StringRef)> warn, DDPMeasurement &measurement) {
  Stopwatch stopwatch;
  FailureOr<std::vector<uint8_t>> bytes = failure();
  absl::Status status = withFittedModelIR(description, compile, warn, [&](ModuleOp module, const CompileOptions &own) {
    bytes = compileModule(module, own);
    return success(succeeded(bytes));
  });
  if (!status.ok())
    return status;
  measurement.compileSeconds = stopwatch.getSeconds();
  absl::StatusOr<std::shared_ptr<const runtime::Executable>> executable = runtime::Executable::FromBytes(*bytes);
  if (!executable.ok())
    return executable.status();
  measurement.exchange = countExchange(**executable, *(*executable)->FindEntry(stringifyMode(description.mode).str()));
  llvm::Error error = writeOutput(options.job.getProgramPath(),
                                  [&](llvm::raw_ostream &stream) {
                                    stream.write(reinterpret_cast<const char *>(bytes->data()), bytes->size());
                                    return llvm::Error::success();
                                  },
                                  {.durable = false});
  if (error)
    return absl::UnavailableError(
        absl::StrCat("the program cannot be written for the ranks: ", llvm::toString(std::move(error))));
  CompileOptions planned = compile;
  planned.dumpDir.clear();
  planned.passStatistics = nullptr;
  planned.timing = nullptr;
  absl::StatusOr<ModelPlan> plan = planModel(description, planned, [](llvm::StringRef) {});
  if (!plan.ok())
    return plan.status();
  measurement.plan = *std::move(plan);
  return absl::OkStatus();
}

absl::Status DDPBenchmark::launch(int ranks) const {
  std::string path = options.job.folder + "/job.json";
  if (absl::Status status = writeRankJob(options.job, path); !status.ok())
    return status;
  runtime::LaunchOptions launch;
  launch.command = {options.program, "ddp", "--as-rank=" + path};
  launch.ranks = ranks;
  launch.timeout = absl::Seconds(options.job.timeoutSeconds);
  launch.on_signal = setInterruption;
  return runtime::LaunchRanks(launch);
}

/// Returns the error to report: a lack of memory on any rank explains the errors of the others, which are those of the
/// group. A rank that was killed has no result; the launcher's error reports it.
static absl::Status findCause(llvm::ArrayRef<absl::StatusOr<RankResult>> results, const absl::Status &launched) {
  const absl::Status *first = nullptr;
  for (const absl::StatusOr<RankResult> &result : results) {
    if (!result.ok() || result->status.ok())
      continue;
    if (absl::IsResourceExhausted(result->status))
      return result->status;
    if (!first || absl::IsUnavailable(*first))
      first = &result->status;
  }
  if (absl::IsCancelled(launched))
    return launched;
  return first ? *first : launched;
}

DDPMeasurement DDPBenchmark::measure(const ModelDescription &description, const CompileOptions &compileOptions,
                                     int ranks, llvm::function_ref<void(llvm::StringRef)> report,
                                     llvm::function_ref<void(llvm::StringRef)> warn) {
  DDPMeasurement measurement;
  traces.clear();
  report("compiling");
  measurement.status = compile(description, compileOptions, warn, measurement);
  // The launcher forwards later signals.
  measurement.status.Update(checkInterruption());
  if (!measurement.status.ok())
    return measurement;
  for (int rank = 0; rank != ranks; ++rank)
    (void)llvm::sys::fs::remove(options.job.getResultPath(rank));

  report("running");
  absl::Status launched = launch(ranks);
  std::vector<absl::StatusOr<RankResult>> read;
  for (int rank = 0; rank != ranks; ++rank)
    read.push_back(readRankResult(options.job.getResultPath(rank)));
  measurement.status = findCause(read, launched);
  for (const absl::StatusOr<RankResult> &result : read)
    measurement.status.Update(result.status());
  if (!measurement.status.ok())
    return measurement;
  std::vector<RankResult> results;
  for (absl::StatusOr<RankResult> &result : read)
    results.push_back(*std::move(result));
  mergeResults(results, measurement);
  for (int rank = 0; options.job.trace && rank != ranks; ++rank) {
    absl::StatusOr<RankTrace> trace = readRankTrace(options.job.folder, rank);
    measurement.status.Update(trace.status());
    if (trace.ok())
      traces.push_back(*std::move(trace));
  }
  return measurement;
}
