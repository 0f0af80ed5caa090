//===- CellNames.h - What reports call a cell of a sweep --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_CELLNAMES_H
#define CS336_BENCH_COMMAND_CELLNAMES_H

#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Frontend/TransformerConfig.h"

#include "absl/status/status.h"

#include <string>

namespace cs336::bench {

/// "small", or "d512 ff1344 L4 h16" for a model without a name.
std::string describeSize(const TransformerConfig &config);

/// Returns text such as "unfused" or "fusion softmax", or "with autocast" for a rung of a ladder.
std::string describeFusion(Fusion level, const PipelineVariant &pipeline);

/// Returns the text that a table shows instead of times: "OOM" or "unsupported". Returns an empty text for failures
/// that end a sweep.
llvm::StringRef getFailureText(const absl::Status &status);

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_CELLNAMES_H
