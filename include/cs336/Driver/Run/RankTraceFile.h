//===- RankTraceFile.h - Traces that ranks hand over ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that are processes write their traces to a folder, from which the process that started them reads them. The
// files are JSON Lines: the first line contains everything except the spans, and each further line is a span. At any
// time, at most one line is in memory as JSON values.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_RANKTRACEFILE_H
#define CS336_DRIVER_RUN_RANKTRACEFILE_H

#include "cs336/Driver/Run/TraceFile.h"

#include "absl/status/statusor.h"

namespace cs336 {

/// Writes the trace to the rank's file in `folder`. UNAVAILABLE, with the path, if that is not possible.
absl::Status writeRankTrace(const RankTrace &trace, llvm::StringRef folder);

/// Reads the trace of a rank from its file in `folder`. Returns NOT_FOUND if the rank wrote none, UNAVAILABLE if the
/// file cannot be read, and INVALID_ARGUMENT if it is damaged. The last two name the path.
absl::StatusOr<RankTrace> readRankTrace(llvm::StringRef folder, int rank);

} // namespace cs336

#endif // CS336_DRIVER_RUN_RANKTRACEFILE_H
