//===- Statistics.h - Of the times of equal steps ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMING_STATISTICS_H
#define CS336_BENCH_TIMING_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

namespace cs336::bench {

/// Statistics in the unit of the samples. `std` is the standard deviation of the population, which divides by n and not
/// by n − 1.
struct Statistics {
  double mean = 0, std = 0, median = 0, min = 0;
  /// Interpolated between the two nearest samples.
  double lowerQuartile = 0, upperQuartile = 0;
};

/// Computes the statistics of at least one sample.
Statistics computeStatistics(llvm::ArrayRef<double> samples);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_STATISTICS_H
