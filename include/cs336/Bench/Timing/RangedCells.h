//===- RangedCells.h - Cells that noise may hide ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMING_RANGEDCELLS_H
#define CS336_BENCH_TIMING_RANGEDCELLS_H

#include "cs336/Bench/Report/Column.h"
#include "cs336/Bench/Timing/Ranged.h"

#include <optional>
#include <vector>

namespace cs336::bench {

/// Returns a cell with the ratio if it is clear. Otherwise the cell is "noisy" without a value, with a footnote that
/// recommends a remedy. The cell is empty without a ratio.
Cell makeRatio(std::optional<Ranged> ratio, int digits);

/// Does the same for a difference of times, but keeps the value in JSON, which also contains the times of the steps.
Cell makeDifference(std::optional<Ranged> difference, int digits);

/// Returns a cell with the share `rate` of `peak`, the rate of a GEMM that was timed apart; empty without a peak. A
/// share above 1 shows that other work has slowed the GEMM down: the cell is then "above 1" without a value, with a
/// footnote.
Cell makeUtilization(double rate, std::optional<double> peak);

/// Returns the cell "noisy" of a number that is derived from a difference.
Cell makeNoisy();

/// Returns [low, high] for JSON: empty if the interval is unbounded.
Cell makeInterval(std::optional<Ranged> ranged);

/// Appends a column of ratios, and for JSON a column of their intervals, whose key ends with "_interval".
template <typename Row>
void appendRatio(std::vector<Column<Row>> &columns, std::string title, const std::string &key, int digits,
                 std::function<std::optional<Ranged>(const Row &)> get, Show show = Show::Result) {
  columns.push_back({title, key, [get, digits](const Row &row) { return makeRatio(get(row), digits); }, show});
  columns.push_back(
      {std::move(title), key + "_interval", [get](const Row &row) { return makeInterval(get(row)); }, Show::Data});
}

} // namespace cs336::bench

#endif // CS336_BENCH_TIMING_RANGEDCELLS_H
