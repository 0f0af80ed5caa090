//===- ResultsSchema.h - The schema of results in JSON ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a results document that every command shares. docs/Results.md describes the whole document.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_RESULTSSCHEMA_H
#define CS336_BENCH_REPORT_RESULTSSCHEMA_H

#include "cs336/Bench/Report/Column.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

/// The member "schema" of a document.
inline constexpr llvm::StringLiteral kResultsSchema = "cs336.results";
/// The member "version" of a document. It increases with every change that a reader of the version before it could
/// misread.
inline constexpr int64_t kResultsVersion = 2;
/// The version of documents that name no schema. They do not describe their columns.
inline constexpr int64_t kUnnamedVersion = 1;

/// A column as a document describes it. See ColumnHead for `key`, `title` and `samples`.
struct ColumnDescription {
  std::string key, title;
  /// The unit of the column's numbers, or nullopt for text, counts and ratios.
  std::optional<std::string> unit;
  Role role = Role::Result;
  std::vector<std::string> samples;
};

/// Returns the unit that the last words of a column's key name: "ms" for "median_ms". Returns nullopt if they name
/// none.
std::optional<std::string> getUnit(llvm::StringRef key);

/// Describes a column of a table.
ColumnDescription describeColumn(const ColumnHead &head);

llvm::json::Value toJSON(const ColumnDescription &column);
/// Returns false, after an error at the path, if the value does not describe a column.
bool fromJSON(const llvm::json::Value &value, ColumnDescription &column, llvm::json::Path path);

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_RESULTSSCHEMA_H
