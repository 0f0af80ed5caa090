//===- Ranged.h - Times with their noise ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMING_RANGED_H
#define CS336_BENCH_TIMING_RANGED_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>

namespace cs336::bench {

/// A time, or a difference or a ratio of times, with its interval in repeated measurements. Tables print "noisy"
/// instead of a number whose interval is too wide.
struct Ranged {
  /// The largest quotient of `high` and `low` at which the value is printed.
  static constexpr double kLargestAmbiguity = 1.5;
  /// The smallest number of samples with a bounded interval: fewer samples do not show how much they vary.
  static constexpr size_t kFewestSamples = 3;

  double value;
  /// `low` is at most `value`, `high` at least. An unbounded interval is [-infinity, infinity].
  double low, high;

  /// Returns whether `low` is positive and `high` at most kLargestAmbiguity times as much.
  bool isClear() const;
};

/// Returns the median with the lower and the upper quartile. Requires at least one sample.
Ranged getRangedMedian(llvm::ArrayRef<double> samples);

/// Returns `value` with the interval of `ranged`, widened to contain the value.
Ranged widen(const Ranged &ranged, double value);

/// Returns the mean with the interval of the median, widened to contain the mean. Requires at least one sample.
Ranged getRangedMean(llvm::ArrayRef<double> samples);

/// Returns a - b. The interval is from the smallest to the largest difference of values in both intervals.
Ranged subtract(const Ranged &a, const Ranged &b);

/// Returns a / b. The interval is from the smallest to the largest quotient of values in both intervals; unbounded
/// unless all values are positive.
Ranged divide(const Ranged &a, const Ranged &b);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_RANGED_H
