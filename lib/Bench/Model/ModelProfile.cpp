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

absl::StatusOr<RunProfile> cs336::bench::profileModel(std::shared_ptr<const runtime::Executable> executable,
                                                      const runtime::TensorMap &batch,
                                                      const ModelDescription &description,
                                                      const MeasureOptions &options, StepTimes &times) {
  absl::StatusOr<runtime::DeviceId> device = runtime::ParseDevice(options.device);
  if (!device.ok())
    return device.status();
  absl::StatusOr<std::unique_ptr<RunProfiler>> profiler = RunProfiler::create(*device);
  if (!profiler.ok())
    return absl::Status(profiler.status().code(), absl::StrCat("--profile: ", profiler.status().message()));
  auto session = runtime::Session::Create(std::move(executable), getSessionOptions(options));
  if (!session.ok())
    return session.status();

  std::string entry = stringifyMode(description.mode).str();
  std::vector<runtime::NamedTensor> arguments = getArguments(**session, entry, batch);
  absl::Status status = (*session)->InitializeVariables(options.seed);
  for (int64_t step = 0; status.ok() && step < options.warmups.front(); ++step)
    status = (*session)->Run(entry, arguments);
  if (status.ok())
    status = (*profiler)->start(**session);
  if (status.ok())
    status = timeSteps(**session, entry, arguments, options.steps, [](int64_t) {}, times, (*profiler)->getObserver());
  if (!status.ok())
    return status;
  return (*profiler)->stop(**session);
}
