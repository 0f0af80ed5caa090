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

/// Returns the timeline with the times of a run in place of the predicted times. The start and the end of a command are
/// means over all profiled steps, relative to the start of the first command of the step. Commands without work, such
/// as those that await an event, end when they start. `entry` names the entry of the timeline, and `device` the device
/// that ran it. Returns NOT_FOUND if the trace has no step of this entry, and INTERNAL if the step has other commands.
absl::StatusOr<MemoryTimeline> setMeasuredTimes(MemoryTimeline timeline, const runtime::Trace &trace,
                                                llvm::StringRef entry, std::string device);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MEASUREDTIMELINE_H
