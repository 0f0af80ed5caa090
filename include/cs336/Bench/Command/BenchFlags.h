//===- BenchFlags.h - What commands make of shared flags --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_BENCHFLAGS_H
#define CS336_BENCH_COMMAND_BENCHFLAGS_H

#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/DeviceFlag.h"
#include "cs336/Driver/Flags/ModelFlags.h"
#include "cs336/Pipelines/Pipelines.h"
#include "llvm/Support/JSON.h"

#include "absl/status/statusor.h"

#include <vector>

namespace cs336::bench {

/// Parses the options in `text`. Returns INVALID_ARGUMENT if an option is unknown.
absl::Status readPipeline(llvm::StringRef text, PipelineOptions &pipeline);

/// Returns all models that the flags describe, or an error if one of them cannot be built. Without this check, an
/// impossible model late in a sweep would lose the measurements before it.
absl::StatusOr<std::vector<ModelDescription>> describeModels(const ModelFlags &flags, const ModelDescription &base);

/// Returns INVALID_ARGUMENT for mixed precision of a model that is built in float64, because autocast does not change
/// float64.
absl::Status checkTypes(const ModelDescription &description, ComputeType type);

/// Returns INVALID_ARGUMENT for `--checkpoint` if none of the models has a backward pass.
absl::Status checkCheckpoint(const CompileFlags &flags, llvm::ArrayRef<ModelDescription> descriptions);

/// Describes the device for a report.
llvm::json::Object describeDevice(runtime::DeviceId device, int64_t numThreads);

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_BENCHFLAGS_H
