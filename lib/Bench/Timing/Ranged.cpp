//===- Ranged.cpp - Times with their noise --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timing/Ranged.h"

#include "cs336/Bench/Timing/Statistics.h"

#include <algorithm>
#include <limits>

using namespace cs336::bench;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Ranged::isClear() const { return low > 0 && high <= kLargestAmbiguity * low; }

Ranged cs336::bench::getRangedMedian(llvm::ArrayRef<double> samples) {
  Statistics statistics = computeStatistics(samples);
  if (samples.size() < Ranged::kFewestSamples)
    return {statistics.median, -kInfinity, kInfinity};
  return {statistics.median, statistics.lowerQuartile, statistics.upperQuartile};
}

Ranged cs336::bench::widen(const Ranged &ranged, double value) {
  return {value, std::min(ranged.low, value), std::max(ranged.high, value)};
}

Ranged cs336::bench::getRangedMean(llvm::ArrayRef<double> samples) {
  return widen(getRangedMedian(samples), computeStatistics(samples).mean);
}

Ranged cs336::bench::subtract(const Ranged &a, const Ranged &b) {
  return {a.value - b.value, a.low - b.high, a.high - b.low};
}

Ranged cs336::bench::divide(const Ranged &a, const Ranged &b) {
  double value = a.value / b.value;
  if (a.low <= 0 || b.low <= 0)
    return {value, -kInfinity, kInfinity};
  return {value, a.low / b.high, a.high / b.low};
}
