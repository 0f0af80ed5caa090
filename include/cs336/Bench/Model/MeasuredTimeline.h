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

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace cs336::bench {

/// Collects the times of the commands of an entry over profiled steps.
class MeasuredTimes {
public:
  explicit MeasuredTimes(std::string entry) : entry(std::move(entry)) {}

  /// Adds the steps of a part of a trace, as RunProfile::add does.
  void add(const runtime::Trace &part);

  /// Returns the timeline of the entry with the measured times in place of the predicted times. The start and the end
  /// of a command are means over all steps, relative to the start of the first command of the step. Commands without
  /// work, such as those that await an event, end when they start. `device` names the device that ran the steps.
  /// Returns NOT_FOUND if no step of the entry was added, and INTERNAL if the commands of its steps are not those of
  /// the timeline.
  absl::StatusOr<MemoryTimeline> apply(MemoryTimeline timeline, std::string device) const;

private:
  absl::Status check(const MemoryTimeline &timeline) const;

  /// The sums over all steps, in nanoseconds from the start of each.
  struct Sums {
    double start = 0, end = 0;
    int64_t count = 0;
  };

  std::string entry;
  std::map<int64_t, std::string> commands; // The names of the entry's commands, by position.
  std::map<size_t, Sums> sums;             // By position.
};

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MEASUREDTIMELINE_H
