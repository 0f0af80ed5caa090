//===- TraceOutput.h - The file of --trace ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_TRACEOUTPUT_H
#define CS336_BENCH_PROFILE_TRACEOUTPUT_H

#include "cs336/Driver/Run/TraceFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// Writes the file of `--trace`. While a long trace is written, standard error shows the progress. Warns of events that
/// are left out. `tool` is the name in messages.
absl::Status writeTraceFile(llvm::ArrayRef<RankTrace> ranks, llvm::StringRef path, llvm::StringRef tool);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_TRACEOUTPUT_H
