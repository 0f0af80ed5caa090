//===- ModelProfile.cpp - Where the time of a model's steps goes ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelProfile.h"

#include "cs336/Bench/Model/MeasuredTimeline.h"

#include "absl/strings/str_cat.h"

#include <utility>

using namespace cs336;
using namespace cs336::bench;

absl::StatusOr<StepProfile> cs336::bench::profileSteps(std::shared_ptr<const runtime::Executable> executable,
                                                       const runtime::SessionOptions &options,
                                                       const runtime::TensorMap &batch, const ProfiledSteps &steps,
                                                       llvm::function_ref<void(int64_t)> report) {
  absl::StatusOr<runtime::DeviceId> device = runtime::ParseDevice(options.device);
  if (!device.ok())
    return device.status();
  absl::StatusOr<std::unique_ptr<RunProfiler>> profiler = RunProfiler::create(*device);
  if (!profiler.ok())
    return absl::Status(profiler.status().code(), absl::StrCat("the profiler: ", profiler.status().message()));
  auto session = runtime::Session::Create(std::move(executable), options);
  if (!session.ok())
    return session.status();

  std::vector<runtime::NamedTensor> arguments = getArguments(**session, steps.entry, batch);
  absl::Status status = (*session)->InitializeVariables(steps.seed);
  auto run = [&](int64_t count, runtime::RunObserver *observer) {
    for (int64_t step = 0; status.ok() && step < count; ++step)
      status = (*session)->Run(steps.entry, arguments, observer);
  };
  StepProfile result;
  run(steps.warmup, nullptr);

  runtime::RunObserver *observer = (*profiler)->getObserver();
  if (status.ok())
    status = (*profiler)->start(**session);
  run(1, observer); // CUPTI allocates its buffers in the first launch.
  if (status.ok())
    status = (*profiler)->start(**session, steps.consumer);
  absl::Status collected;
  auto collect = [&](int64_t step) {
    collected.Update((*profiler)->collect(**session));
    report(step);
  };
  if (status.ok())
    status = timeSteps(**session, steps.entry, arguments, steps.steps, collect, result.times, observer);
  status.Update(collected);
  if (absl::IsCancelled(status))
    result.status = absl::CancelledError(absl::StrCat(
        std::string(status.message()), " after ", result.times.host.size(), " of ", steps.steps, " profiled steps"));
  else if (!status.ok())
    return status;
  absl::StatusOr<RunProfile> profile = (*profiler)->stop(**session);
  if (!profile.ok())
    return profile.status();
  result.profile = *std::move(profile);
  return result;
}

absl::Status cs336::bench::profileModel(const ModelDescription &description, const MeasureOptions &options,
                                        Measurement &measurement,
                                        llvm::function_ref<void(llvm::StringRef, double)> report) {
  report("loading", 0);
  std::shared_ptr<const runtime::Executable> executable = std::exchange(measurement.executable, nullptr);
  absl::StatusOr<runtime::TensorMap> batch = makeBatch(description.transformer, options.seed);
  if (!batch.ok())
    return batch.status();
  ProfiledSteps steps{stringifyMode(description.mode).str(), options.seed, measurement.warmup, options.steps};
  MeasuredTimes times(steps.entry);
  RankTrace trace{0, options.device};
  steps.consumer = [&](const runtime::Trace &part) {
    if (options.trace)
      trace.add(part);
    if (options.timeline)
      times.add(part);
  };
  absl::StatusOr<StepProfile> profiled =
      profileSteps(executable, getSessionOptions(options), *batch, steps, [&](int64_t step) {
        report("profiling", static_cast<double>(step) / static_cast<double>(options.steps));
      });
  if (!profiled.ok())
    return profiled.status();
  if (profiled->times.host.empty())
    return profiled->status;
  measurement.profiledMilliseconds = profiled->times.getOwnTimes();
  measurement.profile = std::move(profiled->profile);
  if (options.trace)
    measurement.trace = std::move(trace);
  if (options.timeline) {
    absl::StatusOr<MemoryTimeline> timeline =
        times.apply(predictTimeline(executable->description(), description.mode), options.deviceName);
    if (!timeline.ok())
      return timeline.status();
    measurement.timeline = *std::move(timeline);
  }
  return profiled->status;
}
