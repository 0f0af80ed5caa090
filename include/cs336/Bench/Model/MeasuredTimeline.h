//===- MeasuredTimeline.h - Memory over measured time -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MEASUREDTIMELINE_H
#define CS336_BENCH_MODEL_MEASUREDTIMELINE_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/runtime/Trace.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>

namespace cs336::bench {

/// Returns the timeline with the times of a run in place of predicted ones: of each command, the mean over all profiled
/// steps of its start and of its end, from the start of the first command of its step. Commands that ran nothing, such
/// as those that await an event, end when they start. `entry` names the entry of the timeline, `device` where it ran.
/// Returns NOT_FOUND if the trace has no step of that entry, INTERNAL if its commands are others.
absl::StatusOr<MemoryTimeline> setMeasuredTimes(MemoryTimeline timeline, const runtime::Trace &trace,
                                                llvm::StringRef entry, std::string device);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MEASUREDTIMELINE_H
