//===- Overlap.h - Communication beside computation -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_OVERLAP_H
#define CS336_BENCH_DDP_OVERLAP_H

#include "cs336/runtime/Trace.h"

#include <cstdint>

namespace cs336::bench {

/// The longest idle time that lies between two kernels that depend on each other, with and without communication.
inline constexpr int64_t kLaunchNanoseconds = 1000;

/// The times of a trace's communication and computation, in nanoseconds.
struct Overlap {
  /// The sum over spans of the phase "communication", which may overlap each other. Waiting for another rank within a
  /// collective is part of it.
  int64_t communication = 0;
  /// The time in which at least one command of another phase runs.
  int64_t compute = 0;
  /// The time in which communication runs, and no command of another phase does for more than `kLaunchNanoseconds`. In
  /// shorter times, a GPU launches its next kernel.
  int64_t exposed = 0;

  bool operator==(const Overlap &) const = default;
  /// Adds the times of later spans.
  Overlap &operator+=(const Overlap &other);
};

/// Computes the overlap over all streams of one rank. Spans that belong to no command, which feed inputs and read
/// outputs, are neither communication nor computation.
Overlap computeOverlap(const runtime::Trace &trace);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_OVERLAP_H
