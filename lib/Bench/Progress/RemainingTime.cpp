//===- RemainingTime.cpp - When a sweep will end --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Progress/RemainingTime.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <numeric>

using namespace cs336::bench;

std::string cs336::bench::formatDuration(double seconds) {
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 2 * kMinute)
    return llvm::formatv("{0:f0} s", std::max(seconds, 1.0));
  if (seconds < 2 * kHour)
    return llvm::formatv("{0:f0} min", seconds / kMinute);
  return llvm::formatv("{0:f1} h", seconds / kHour);
}

void RemainingTime::finish(double seconds) {
  finished = std::min(finished + 1, expected.size());
  taken += seconds;
}

std::optional<double> RemainingTime::getSeconds() const {
  auto middle = expected.begin() + static_cast<std::ptrdiff_t>(finished);
  double before = std::accumulate(expected.begin(), middle, 0.0);
  if (before <= 0)
    return std::nullopt;
  return std::accumulate(middle, expected.end(), 0.0) * taken / before;
}
