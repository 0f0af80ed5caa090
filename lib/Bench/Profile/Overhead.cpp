//===- Overhead.cpp - The overhead of profiling ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/Overhead.h"

#include "cs336/Bench/Timing/Statistics.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace cs336::bench;

Ranged cs336::bench::getProfiledOverStep(llvm::ArrayRef<double> profiled, llvm::ArrayRef<double> unprofiled) {
  return divide(getRangedMedian(profiled), getRangedMedian(unprofiled));
}

/// Returns the change of a step's time as a percentage of the time without the profiler, or a statement that it is
/// smaller than the noise of the steps.
static std::string describeChange(const Ranged &profiledOverStep) {
  auto getPercent = [](double ratio) { return 100 * (ratio - 1); };
  auto [value, low, high] = profiledOverStep;
  if (!std::isfinite(low) || !std::isfinite(high))
    return llvm::formatv("{0:f1} % of a step, and fewer than {1} steps do not show the noise", getPercent(value),
                         Ranged::kFewestSamples);
  std::string interval = llvm::formatv("from {0:f1} % to {1:f1} %", getPercent(low), getPercent(high));
  if (low <= 1 && high >= 1)
    return "within the noise, " + interval + " of a step by the quartiles";
  return llvm::formatv("{0:f1} % of a step, {1} by the quartiles", getPercent(value), interval);
}

std::string cs336::bench::describeOverhead(llvm::ArrayRef<double> profiled, llvm::ArrayRef<double> unprofiled) {
  return llvm::formatv("overhead of profiling: {0}; {1:f3} ms with the profiler, {2:f3} ms without it, in a session "
                       "before it (medians)",
                       describeChange(getProfiledOverStep(profiled, unprofiled)), computeStatistics(profiled).median,
                       computeStatistics(unprofiled).median);
}

std::optional<std::string> cs336::bench::findOverheadWarning(llvm::ArrayRef<double> profiled,
                                                             llvm::ArrayRef<double> unprofiled) {
  constexpr double kLargestRatio = 1.03;
  Ranged ratio = getProfiledOverStep(profiled, unprofiled);
  bool isNoise = std::isfinite(ratio.low) && ratio.low <= 1;
  if (ratio.value <= kLargestRatio || isNoise)
    return std::nullopt;
  return "profiled steps take more than 3 % longer than others: " + describeOverhead(profiled, unprofiled);
}
