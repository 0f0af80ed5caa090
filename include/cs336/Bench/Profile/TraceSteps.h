//===- TraceSteps.h - The steps of a trace ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_TRACESTEPS_H
#define CS336_BENCH_PROFILE_TRACESTEPS_H

#include "cs336/runtime/Trace.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace cs336::bench {

/// The time from the start of a command's first span to the end of its last one, in nanoseconds by the clock of the
/// trace.
struct CommandInterval {
  int64_t start = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();

  void add(const runtime::TraceSpan &span);
};

/// The commands of one step that have spans, by position in the entry.
using TraceStep = std::map<size_t, CommandInterval>;

/// Returns the steps of an entry. The trace must have whole steps.
std::vector<TraceStep> splitIntoSteps(const runtime::Trace &trace, llvm::StringRef entry);

/// Returns the time at which the first command of a step starts.
int64_t getBegin(const TraceStep &step);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_TRACESTEPS_H
