//===- ModelProfile.cpp - Where the time of a model's steps goes ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelProfile.h"

#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;

absl::StatusOr<std::unique_ptr<RunProfile>>
cs336::bench::profileModel(std::shared_ptr<const runtime::Executable> executable, const runtime::TensorMap &batch,
                           const ModelDescription &description, const MeasureOptions &options) {
  absl::StatusOr<runtime::DeviceId> device = runtime::ParseDevice(options.device);
  if (!device.ok())
    return device.status();
  absl::StatusOr<std::unique_ptr<RunProfile>> profile = RunProfile::create(*device);
  if (!profile.ok())
    return absl::Status(profile.status().code(), absl::StrCat("--profile: ", profile.status().message()));
  auto session = runtime::Session::Create(std::move(executable), getSessionOptions(options));
  if (!session.ok())
    return session.status();

  std::string entry = stringifyMode(description.mode).str();
  std::vector<runtime::NamedTensor> arguments = getArguments(**session, entry, batch);
  absl::Status status = (*session)->InitializeVariables(options.seed);
  for (int64_t step = 0; status.ok() && step < options.warmups.front(); ++step)
    status = (*session)->Run(entry, arguments);
  if (status.ok())
    status = (*profile)->start(**session);
  for (int64_t step = 0; status.ok() && step < options.steps; ++step)
    status = (*session)->Run(entry, arguments, (*profile)->getObserver());
  if (status.ok())
    status = (*profile)->stop(**session);
  if (!status.ok())
    return status;
  return profile;
}

void cs336::bench::printProfiles(llvm::ArrayRef<ModelRow> rows, Format format, size_t most) {
  bool isForPeople = format == Format::Table || format == Format::Markdown;
  llvm::raw_ostream &stream = isForPeople ? llvm::outs() : llvm::errs();
  for (const ModelRow &row : rows) {
    if (!row.measurement.profile)
      continue;
    const TransformerConfig &config = row.description.transformer;
    stream << llvm::formatv("\n{0} steps of {1}, batch {2}, context {3}, {4}, {5}, {6}:\n",
                            row.measurement.stepMilliseconds.size(), describeSize(config), config.batchSize,
                            config.contextLength, stringifyComputeType(row.computeType),
                            describeFusion(row.fusion, row.pipeline), stringifyMode(row.description.mode));
    row.measurement.profile->print(stream, most);
  }
}
