//===- Comparison.h - Times before and after a change -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMPARE_COMPARISON_H
#define CS336_BENCH_COMPARE_COMPARISON_H

#include "cs336/Bench/Compare/ResultsFile.h"
#include "cs336/Bench/Timing/Ranged.h"

#include <optional>

namespace cs336::bench {

enum class Verdict {
  Faster,
  Slower,
  NoDifference,
  /// The interval of the ratio is too wide for any other verdict.
  Unknown,
  /// One of the files lacks the row, or the row's time.
  OnlyBefore,
  OnlyAfter
};

/// "faster", "no difference", "only before".
llvm::StringRef stringifyVerdict(Verdict verdict);

/// Judges the time before divided by the time after: faster if the whole interval lies above 1 + tolerance, slower if
/// it lies below 1 / (1 + tolerance). An unbounded interval shows no difference.
Verdict judge(const Ranged &ratio, double tolerance);

/// A column that is a statistic of steps, in one row of each file.
struct TimeComparison {
  std::string benchmark;
  /// The row's values of setting columns, by key.
  llvm::json::Object settings;
  /// The key of the column.
  std::string column;
  std::string unit;
  /// The times in this unit. At least one of them has a value.
  std::optional<double> before, after;
  /// The time before divided by the time after. Has a value if both times have.
  std::optional<Ranged> ratio;
  Verdict verdict;
};

/// The times of two files.
struct Comparison {
  /// The setting columns of all documents.
  std::vector<ColumnDescription> settings;
  std::vector<TimeComparison> times;
};

/// Compares the columns that are statistics of steps. Documents of one benchmark are paired in their order; rows are
/// paired by the setting columns that both documents have. The interval of a time is that between the quartiles of its
/// steps, widened to contain the time. Calls `warn` once for each difference that makes ratios doubtful, or because of
/// which columns are not compared: devices, units, columns. Returns INVALID_ARGUMENT if the versions of the files
/// differ, if rows of one document have equal settings, if no row has a partner, or if no column of a row with a
/// partner is a statistic of steps.
absl::StatusOr<Comparison> compareResults(const ResultsFile &before, const ResultsFile &after, double tolerance,
                                          llvm::function_ref<void(llvm::StringRef)> warn);

} // namespace cs336::bench

#endif // CS336_BENCH_COMPARE_COMPARISON_H
