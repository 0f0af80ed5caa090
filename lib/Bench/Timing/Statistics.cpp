//===- Statistics.cpp - Of the times of equal steps -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timing/Statistics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

using namespace cs336::bench;

/// Returns the quantile. `sorted` has at least one sample, and `fraction` is between 0 and 1.
static double getQuantile(llvm::ArrayRef<double> sorted, double fraction) {
  double position = fraction * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Statistics cs336::bench::computeStatistics(llvm::ArrayRef<double> samples) {
  assert(!samples.empty() && "statistics of no samples");
  llvm::SmallVector<double> sorted(samples);
  llvm::sort(sorted);
  size_t count = sorted.size(), middle = count / 2;
  Statistics result;
  result.min = sorted.front();
  result.median = count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  result.lowerQuartile = getQuantile(sorted, 0.25);
  result.upperQuartile = getQuantile(sorted, 0.75);
  result.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  double squares = 0;
  for (double sample : sorted)
    squares += (sample - result.mean) * (sample - result.mean);
  result.std = std::sqrt(squares / static_cast<double>(count));
  return result;
}
