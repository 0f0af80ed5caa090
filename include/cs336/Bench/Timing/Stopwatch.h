//===- Stopwatch.h - Seconds since a point in time --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMING_STOPWATCH_H
#define CS336_BENCH_TIMING_STOPWATCH_H

#include <chrono>

namespace cs336::bench {

/// Measures the time since its construction by the host's steady clock.
class Stopwatch {
public:
  /// Returns the seconds since the construction.
  double getSeconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_STOPWATCH_H
