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
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The formats in which a column appears unless `--columns` selects columns.
enum class Show {
  /// A requested setting, such as a size. It is a column of the table if rows differ in it, and above the table if all
  /// rows have the same value.
  Setting,
  /// A result: in the table.
  Result,
  /// Like Result, but the table format breaks its text into several lines if the table would be too wide.
  Text,
  /// Like Result, but not in the table format, whose lines are short.
  Wide,
  /// Only in CSV and JSON.
  OnRequest,
  /// Only in JSON, also with `--columns`: a list or an object.
  Data
};

/// The meaning of a column for programs that read the JSON.
enum class Role {
  /// Identifies the row: rows of two files with equal settings measure the same.
  Setting,
  /// A value that was measured or computed.
  Result,
  /// A list or an object.
  Data
};

/// The properties of a column that do not depend on the type of rows.
struct ColumnHead {
  /// The head of the column in tables, with its unit.
  std::string title;
  /// Names the column in CSV, JSON and `--columns`. Its last words name the unit: see getUnit.
  std::string key;
  Show show = Show::Result;
  Role role = Role::Result;
  /// The key of the list of times, one per step, that the column is a statistic of; or two keys, if the column is a
  /// statistic of the first list minus that of the second. Empty for a column that is not a statistic of steps.
  std::vector<std::string> samples;
};

/// Returns the role of a column that does not state another one.
inline Role getDefaultRole(Show show) {
  if (show == Show::Data)
    return Role::Data;
  return show == Show::Setting ? Role::Setting : Role::Result;
}

/// A column over rows of type `Row`.
template <typename Row>
struct Column : ColumnHead {
  using Extract = std::function<Cell(const Row &)>;

  Column(std::string title, std::string key, Extract extract, Show show = Show::Result,
         std::optional<Role> role = std::nullopt, std::vector<std::string> samples = {})
      : ColumnHead{std::move(title), std::move(key), show, role.value_or(getDefaultRole(show)), std::move(samples)},
        extract(std::move(extract)) {}

  Extract extract;
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_COLUMN_H
