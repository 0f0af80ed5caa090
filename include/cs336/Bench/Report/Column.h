//===- Column.h - A column of a table ---------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_COLUMN_H
#define CS336_BENCH_REPORT_COLUMN_H

#include "cs336/Bench/Report/Cell.h"

#include <functional>
#include <string>

namespace cs336::bench {

/// The formats in which a column appears unless `--columns` selects columns.
enum class Show {
  /// A property that was asked for, such as a size. In the table if rows differ in it, above the table if all agree.
  Setting,
  /// A result: in the table.
  Result,
  /// As Result; table format breaks its text into lines where the table would be too wide.
  Text,
  /// In CSV and JSON alone.
  OnRequest,
  /// In JSON alone, also with `--columns`: a list or an object.
  Data
};

/// The properties of a column that do not depend on the type of rows.
struct ColumnHead {
  /// Heads the column for people and names the unit.
  std::string title;
  /// Names the column in CSV, JSON and `--columns`.
  std::string key;
  Show show = Show::Result;
};

/// A column over rows of type `Row`.
template <typename Row>
struct Column : ColumnHead {
  using Extract = std::function<Cell(const Row &)>;

  Column(std::string title, std::string key, Extract extract, Show show = Show::Result)
      : ColumnHead{std::move(title), std::move(key), show}, extract(std::move(extract)) {}

  Extract extract;
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_COLUMN_H
