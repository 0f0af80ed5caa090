//===- Roofline.h - Rates of commands beside the device's -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline model (Williams, Waterman, Patterson, 2009): a command takes at least the time of its FLOPs at the
// device's rate of arithmetic, and at least the time of its bytes at the rate of the device's memory.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_ROOFLINE_H
#define CS336_BENCH_PROFILE_ROOFLINE_H

#include "cs336/Bench/Forecast/PeakRate.h"
#include "cs336/Bench/Report/Table.h"
#include "cs336/Driver/Run/RunProfile.h"

#include "absl/status/statusor.h"

#include <map>
#include <string>
#include <vector>

namespace cs336::bench {

/// The highest rates that a device reached.
struct Ceilings {
  double bytesPerSecond = 0;
  /// FLOP/s by the name of the arithmetic, as in TracedCommand: "bf16".
  std::map<std::string, double> flopsPerSecond;
};

/// Measures the ceilings of the arithmetic that the profile's commands use. Returns the error of the first measurement
/// that fails.
absl::StatusOr<Ceilings> measureCeilings(const RunProfile &profile, PeakRates &rates);

/// All runs of the commands with one name, phase and arithmetic.
struct RooflineRow {
  std::string command, phase, arithmetic;
  int64_t runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
  /// The minimum time of this work at the ceilings, and whether arithmetic or memory determines it.
  double leastSeconds = 0;
  bool isBoundByArithmetic = false;
};

/// Returns one row per command, phase and arithmetic, in decreasing order of the time above the minimum. Commands
/// without FLOPs and bytes have no row.
std::vector<RooflineRow> computeRoofline(const RunProfile &profile, const Ceilings &ceilings);

/// Returns a table of at most `numRows` rows with the ceilings in its title.
Table makeRooflineTable(std::string name, const RunProfile &profile, const Ceilings &ceilings, size_t numRows);

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_ROOFLINE_H
