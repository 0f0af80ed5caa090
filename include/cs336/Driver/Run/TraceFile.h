//===- TraceFile.h - Traces for ui.perfetto.dev -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Trace Event Format is described in "Trace Event Format" (Google, 2016).
// Perfetto and chrome://tracing read it.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_TRACEFILE_H
#define CS336_DRIVER_RUN_TRACEFILE_H

#include "cs336/runtime/Trace.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"

#include <string>

namespace cs336 {

/// The trace of one rank.
struct RankTrace {
  int rank = 0;
  std::string device; // "cpu", "cuda:0 (NVIDIA H200)"
  runtime::Trace trace;
};

/// Prints one process per rank, with one thread per stream: its kernels, or commands. A further thread, "model", has
/// the steps, and in them the phases, layers and operations that the commands come from. Arrows lead from operations to
/// their commands. Counters show the live bytes of the arena, and the rates of memory and arithmetic. Times are in
/// microseconds since the first span of all ranks.
void printTrace(llvm::ArrayRef<RankTrace> ranks, llvm::raw_ostream &os);

/// Writes a trace to a file, which is unchanged on an error. The error names the path.
absl::Status writeTrace(llvm::ArrayRef<RankTrace> ranks, llvm::StringRef path);

} // namespace cs336

#endif // CS336_DRIVER_RUN_TRACEFILE_H
