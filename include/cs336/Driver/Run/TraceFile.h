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
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace cs336 {

/// The trace of one rank.
struct RankTrace {
  /// The most spans of a trace: viewers draw about this many, and the file has about 1 GB. Later spans are left out.
  static constexpr size_t kMostSpans = 1'000'000;

  int rank = 0;
  std::string device; // "cpu", "cuda:0 (NVIDIA H200)"
  runtime::Trace trace = {};
  /// The number of spans that are left out.
  int64_t omitted = 0;

  /// Adds the next part of the trace, as RunProfile::add does.
  void add(const runtime::Trace &part);
};

/// Returns "the first 1000000 of 2500000 events", or "" for a trace without omitted spans.
std::string describeOmission(const RankTrace &rank);

/// Prints one process per rank, with one thread per stream: its kernels, or commands. A further thread, "model", has
/// the steps, and in them the phases, layers and operations that the commands come from. Arrows lead from operations to
/// their commands. Counters show the live bytes of the arena, and the rates of memory and arithmetic. Times are in
/// microseconds since the first span of all ranks. The name of a process states which events are left out. `report` is
/// called repeatedly with the printed fraction of the spans, from 0 to 1.
void printTrace(
    llvm::ArrayRef<RankTrace> ranks, llvm::raw_ostream &os, llvm::function_ref<void(double)> report = [](double) {});

/// Writes a trace to a file, which is unchanged on an error. The error names the path.
absl::Status writeTrace(
    llvm::ArrayRef<RankTrace> ranks, llvm::StringRef path, llvm::function_ref<void(double)> report = [](double) {});

} // namespace cs336

#endif // CS336_DRIVER_RUN_TRACEFILE_H
