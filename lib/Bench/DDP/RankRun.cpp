//===- RankRun.cpp - One rank of a measurement ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/RankRun.h"

#include "cs336/Bench/Model/ModelProfile.h"
#include "cs336/Bench/Timing/Stopwatch.h"
#include "cs336/Driver/Run/InputTensors.h"
#include "cs336/Driver/Run/RankTraceFile.h"
#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/DeviceId.h"
#include "cs336/runtime/TcpGroup.h"
#include "cs336/runtime/TensorFile.h"

#include "absl/strings/str_cat.h"

#include <memory>

using namespace cs336;
using namespace cs336::bench;

namespace {
/// One rank, from the group to its result.
class RankRun {
public:
  RankRun(const RankJob &job, const std::optional<runtime::RankEnvironment> &place, RankResult &result)
      : job(job), place(place), result(result) {}

  absl::Status run();

private:
  absl::Status join();
  absl::Status measure(const std::shared_ptr<const runtime::Executable> &executable, const runtime::TensorMap &batch);
  absl::Status profile(std::shared_ptr<const runtime::Executable> executable, const runtime::TensorMap &batch);
  absl::Status give(const runtime::Session &session, const runtime::TensorMap &batch) const;
  /// Waits for all ranks. A step after a failed barrier returns the group's error.
  void wait();
  int getRank() const { return place ? place->rank : 0; }

  const RankJob &job;
  const std::optional<runtime::RankEnvironment> &place;
  RankResult &result;
  runtime::SessionOptions options;
  absl::Status barrier;
};
} // namespace

static constexpr const char *kEntry = "train";

absl::Status RankRun::join() {
  absl::StatusOr<runtime::DeviceId> device = runtime::ParseDevice(job.device);
  if (!device.ok())
    return device.status();
  options.device = ToString(DeviceOfRank(*device, place ? place->local_rank : 0));
  options.num_threads = static_cast<int>(job.numThreads);
  options.memory_limit_bytes = job.memoryLimitBytes;
  options.exchange = job.exchange;
  if (!place)
    return absl::OkStatus();
  Stopwatch stopwatch;
  absl::StatusOr<std::unique_ptr<runtime::Communicator>> joined =
      runtime::JoinTcpGroup(*place, absl::Seconds(job.timeoutSeconds));
  if (!joined.ok())
    return joined.status();
  result.joinSeconds = stopwatch.getSeconds();
  options.communicator = *std::move(joined);
  return absl::OkStatus();
}

void RankRun::wait() {
  if (!options.communicator || !barrier.ok())
    return;
  float value = 0;
  barrier = options.communicator->AllReduce(&value, &value, 1, runtime::DType::kF32, runtime::Reduction::kMax);
}

absl::Status RankRun::give(const runtime::Session &session, const runtime::TensorMap &batch) const {
  if (absl::Status status = runtime::WriteTensors(job.getBatchPath(getRank()), batch); !status.ok())
    return status;
  // All ranks call this, because it is a collective if parameters are sharded.
  absl::StatusOr<runtime::TensorMap> parameters = session.SaveVariables(runtime::VariableSet::kParameters);
  if (!parameters.ok() || getRank() != 0)
    return parameters.status();
  return runtime::WriteTensors(job.getParametersPath(), *parameters);
}

absl::Status RankRun::measure(const std::shared_ptr<const runtime::Executable> &executable,
                              const runtime::TensorMap &batch) {
  Stopwatch stopwatch;
  absl::StatusOr<std::unique_ptr<runtime::Session>> created = runtime::Session::Create(executable, options);
  if (!created.ok())
    return created.status();
  runtime::Session &session = **created;
  result.loadSeconds = stopwatch.getSeconds();
  if (absl::Status status = session.InitializeVariables(static_cast<uint64_t>(job.seed)); !status.ok())
    return status;
  if (job.give)
    if (absl::Status status = give(session, batch); !status.ok())
      return status;

  ModelDescription description;
  description.mode = Mode::Train;
  description.optimizer.beta1 = job.beta1;
  absl::StatusOr<StepValues> values = runStep(session, description, batch);
  if (!values.ok())
    return values.status();
  result.loss = values->loss;
  result.gradNorm = *values->gradNorm;

  StepTimes times;
  absl::Status status = timeSteps(
      session, kEntry, getArguments(session, kEntry, batch), job.warmup + job.steps, [&](int64_t) { wait(); }, times);
  status.Update(barrier);
  if (!status.ok())
    return status;
  StepTimes timed = times.slice(job.warmup, job.steps);
  result.stepMilliseconds = std::move(timed.host);
  result.deviceMilliseconds = std::move(timed.device);
  absl::StatusOr<double> loss = readLoss(session, kEntry);
  if (!loss.ok())
    return loss.status();
  result.lastLoss = *loss;
  if (session.device().kind != runtime::DeviceKind::kCuda)
    return absl::OkStatus();
  absl::StatusOr<runtime::SessionMemory> memory = session.Memory();
  if (!memory.ok())
    return memory.status();
  result.deviceMemoryBytes = memory->used;
  return absl::OkStatus();
}

absl::Status RankRun::profile(std::shared_ptr<const runtime::Executable> executable, const runtime::TensorMap &batch) {
  Overlap overlap;
  GatherUses gathers(*executable->FindEntry(kEntry));
  GatherWaits gatherWaits;
  RankTrace trace{getRank(), options.device};
  ProfiledSteps steps{kEntry, static_cast<uint64_t>(job.seed), job.warmup, job.steps};
  steps.consumer = [&](const runtime::Trace &part) {
    overlap += computeOverlap(part);
    gatherWaits += gathers.measure(part);
    if (job.trace)
      trace.add(part);
  };
  absl::StatusOr<StepProfile> profiled =
      profileSteps(std::move(executable), options, batch, steps, [&](int64_t) { wait(); });
  if (!profiled.ok())
    return profiled.status();
  if (!profiled->status.ok())
    return profiled->status;
  result.overlap = overlap;
  result.gatherWaits = gatherWaits;
  result.profiledMilliseconds = profiled->times.getOwnTimes();
  result.profileNote = profiled->profile.note;
  if (!barrier.ok())
    return barrier;
  return job.trace ? writeRankTrace(trace, job.folder) : absl::OkStatus();
}

absl::Status RankRun::run() {
  if (absl::Status status = join(); !status.ok())
    return status;
  absl::StatusOr<std::shared_ptr<const runtime::Executable>> executable =
      runtime::Executable::Load(job.getProgramPath());
  if (!executable.ok())
    return executable.status();
  const format::EntryT *entry = (*executable)->FindEntry(kEntry);
  if (!entry)
    return absl::InternalError(absl::StrCat("the compiled model has no entry '", kEntry, "'"));
  // Ranks have the same parameters and different batches.
  absl::StatusOr<runtime::TensorMap> batch =
      makeRandomInputs(*entry, static_cast<uint64_t>(job.seed) + static_cast<uint64_t>(getRank()));
  if (!batch.ok())
    return batch.status();
  if (absl::Status status = measure(*executable, *batch); !status.ok())
    return status;
  return job.profile ? profile(*std::move(executable), *batch) : absl::OkStatus();
}

absl::Status cs336::bench::runRankJob(const RankJob &job, const std::optional<runtime::RankEnvironment> &place) {
  RankResult result;
  result.status = RankRun(job, place, result).run();
  absl::Status written = writeRankResult(result, job.getResultPath(place ? place->rank : 0));
  return result.status.ok() ? written : result.status;
}
