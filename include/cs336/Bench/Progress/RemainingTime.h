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

/// The time of the tasks that are left, from what each was expected to take and what those before it took.
class RemainingTime {
public:
  /// `expected` has the seconds of each task, in their order; it is empty if nothing is known of them.
  explicit RemainingTime(std::vector<double> expected) : expected(std::move(expected)) {}

  /// The next task has taken that long.
  void finish(double seconds);
  /// Returns the seconds of the other tasks: those expected, times the quotient of what finished tasks took and were
  /// expected to. Returns nullopt before the first task is finished, and if nothing was expected.
  std::optional<double> getSeconds() const;

private:
  std::vector<double> expected;
  size_t finished = 0;
  double taken = 0;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRESS_REMAININGTIME_H
