//===- ModelProfile.cpp - Where the time of a model's steps goes ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelProfile.h"

#include "absl/strings/str_cat.h"

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
  if (status.ok())
    status = (*profiler)->stop(**session).status();
  if (status.ok())
    status = timeSteps(**session, steps.entry, arguments, steps.steps, report, result.unprofiled);

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
    status = timeSteps(**session, steps.entry, arguments, steps.steps, collect, result.profiled, observer);
  status.Update(collected);
  if (absl::IsCancelled(status))
    result.status = absl::CancelledError(absl::StrCat(
        std::string(status.message()), " after ", result.profiled.host.size(), " of ", steps.steps, " profiled steps"));
  else if (!status.ok())
    return status;
  absl::StatusOr<RunProfile> profile = (*profiler)->stop(**session);
  if (!profile.ok())
    return profile.status();
  result.profile = *std::move(profile);
  return result;
}
