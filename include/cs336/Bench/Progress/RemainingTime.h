//===- RemainingTime.h - When a sweep will end ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRESS_REMAININGTIME_H
#define CS336_BENCH_PROGRESS_REMAININGTIME_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// Returns "20 s", "4 min" or "2.5 h"; "1 s" for less.
std::string formatDuration(double seconds);

/// Estimates the time of the remaining tasks from the expected time of each task and the times of the finished tasks.
class RemainingTime {
public:
  /// `expected` has the expected seconds of each task, in order, or is empty if they are unknown.
  explicit RemainingTime(std::vector<double> expected) : expected(std::move(expected)) {}

  /// Notes that the next task is finished, and its time.
  void finish(double seconds);
  /// Returns the seconds of the remaining tasks: their expected time, times the quotient of the measured and the
  /// expected time of the finished tasks. Returns nullopt before the first task is finished, and if the expected times
  /// are unknown.
  std::optional<double> getSeconds() const;

private:
  std::vector<double> expected;
  size_t finished = 0;
  double taken = 0;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRESS_REMAININGTIME_H
