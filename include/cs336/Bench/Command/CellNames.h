//===- CellNames.h - What reports call a cell of a sweep --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_CELLNAMES_H
#define CS336_BENCH_COMMAND_CELLNAMES_H

#include "cs336/Bench/Report/Cell.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Frontend/TransformerConfig.h"

#include "absl/status/status.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// "small", or "d512 ff1344 L4 h16" for a model without a name.
std::string describeSize(const TransformerConfig &config);

/// Returns the value of an option of the pipeline if it is given. The last one applies.
std::optional<llvm::StringRef> findOption(const PipelineVariant &pipeline, llvm::StringRef name);

/// Returns the setting `checkpoint`: 0 without the option. Text of tables shows it if the option is given.
Cell makeCheckpoint(const PipelineVariant &pipeline);

/// Returns text such as "unfused" or "fusion softmax", or "with autocast" for a rung of a ladder. If the recomputation
/// of activations is requested, the text includes it: "fusion all, checkpoint 2", "fusion all, memory budget 30GiB".
std::string describeFusion(Fusion level, const PipelineVariant &pipeline);

/// Returns the text that a table shows instead of times: "OOM" or "unsupported". Returns an empty text for failures
/// that end a sweep.
llvm::StringRef getFailureText(const absl::Status &status);

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_CELLNAMES_H
