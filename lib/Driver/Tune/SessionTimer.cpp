//===- SessionTimer.cpp - Times of one kernel on a GPU --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tune/SessionTimer.h"

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Target/NVRTC/NVRTC.h"
#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/Session.h"

#include <algorithm>
#include <vector>

using namespace mlir;
using namespace cs336;

static constexpr char kEntry[] = "forward";
/// The first runs load code and raise the clock.
static constexpr int kWarmups = 5, kRuns = 20;

absl::StatusOr<CandidateTimer::Identity> SessionTimer::identify() {
  absl::StatusOr<std::string> architecture = runtime::QueryCudaTarget(device.ordinal);
  if (!architecture.ok())
    return architecture.status();
  absl::StatusOr<runtime::CudaInfo> cuda = runtime::QueryCuda();
  if (!cuda.ok())
    return cuda.status();
  llvm::Expected<std::string> compiler = NVRTC::identify();
  if (!compiler)
    return absl::NotFoundError(llvm::toString(compiler.takeError()));
  return Identity{cuda->devices[device.ordinal].name, *std::move(architecture), *std::move(compiler)};
}

/// Compiles the program. The error has its diagnostics, which are not emitted.
static absl::StatusOr<std::shared_ptr<const runtime::Executable>> compile(ModuleOp program,
                                                                          const CompileOptions &options) {
  std::string errors;
  ScopedDiagnosticHandler handler(program.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  FailureOr<std::vector<uint8_t>> bytes = compileModule(program, options);
  if (failed(bytes))
    return absl::InvalidArgumentError(errors);
  return runtime::Executable::FromBytes(*bytes);
}

absl::StatusOr<double> SessionTimer::time(ModuleOp program) {
  absl::StatusOr<std::string> architecture = runtime::QueryCudaTarget(device.ordinal);
  if (!architecture.ok())
    return architecture.status();
  CompileOptions compileOptions;
  compileOptions.target = Target::CUDA;
  compileOptions.architectures = {*std::move(architecture)};
  compileOptions.cacheFolder = cacheFolder;
  auto executable = compile(program, compileOptions);
  if (!executable.ok())
    return executable.status();
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = runtime::ToString(device);
  auto session = runtime::Session::Create(*executable, sessionOptions);
  if (!session.ok())
    return session.status();
  if (absl::Status status = (*session)->InitializeVariables(/*seed=*/0); !status.ok())
    return status;
  std::vector<double> times;
  for (int run = 0; run != kWarmups + kRuns; ++run) {
    absl::Status status = interruption();
    if (status.ok())
      status = (*session)->Run(kEntry, {});
    if (!status.ok())
      return status;
    absl::StatusOr<absl::Duration> duration = (*session)->LastRunDuration(kEntry);
    if (!duration.ok())
      return duration.status();
    if (run >= kWarmups)
      times.push_back(absl::ToDoubleMicroseconds(*duration));
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}
