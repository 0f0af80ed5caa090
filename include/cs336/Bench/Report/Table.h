//===- Table.h - Rows of cells under named columns --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_TABLE_H
#define CS336_BENCH_REPORT_TABLE_H

#include "cs336/Bench/Report/Column.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/statusor.h"

#include <vector>

namespace cs336::bench {

/// Rows of cells, made by one list of columns.
class Table {
public:
  /// `name` distinguishes the table from others of a report, in the names of files. `title` is printed above it and may
  /// be empty.
  template <typename Row>
  Table(std::string name, std::string title, const std::vector<Column<Row>> &columns, llvm::ArrayRef<Row> rows)
      : name(std::move(name)), title(std::move(title)), heads(columns.begin(), columns.end()) {
    for (const Row &row : rows) {
      std::vector<Cell> &cells = this->rows.emplace_back();
      for (const Column<Row> &column : columns)
        cells.push_back(column.extract(row));
    }
  }

  llvm::StringRef getName() const { return name; }
  llvm::StringRef getTitle() const { return title; }
  llvm::ArrayRef<ColumnHead> getHeads() const { return heads; }
  llvm::ArrayRef<std::vector<Cell>> getRows() const { return rows; }
  /// Returns whether `select` chose the columns.
  bool isSelected() const { return selected; }

  /// Returns whether a cell of the column has text.
  bool hasText(size_t column) const;
  /// Returns whether a value of the column is text or a list, which is aligned at the left; numbers are aligned at the
  /// right.
  bool isText(size_t column) const;
  /// Returns an object for every row, with the columns' keys.
  llvm::json::Array getObjects() const;

  /// Keeps the columns with these keys, in this order; all of them for {"all"}. The keys are known: see checkColumns.
  void select(llvm::ArrayRef<std::string> keys);

private:
  std::string name, title;
  std::vector<ColumnHead> heads;
  std::vector<std::vector<Cell>> rows;
  bool selected = false;
};

/// Returns INVALID_ARGUMENT if `keys`, the value of `--columns`, contains an unknown key, a key twice, or "all"
/// together with other keys.
absl::Status checkColumns(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<ColumnHead> heads,
                          llvm::StringRef flag = "--columns");

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_TABLE_H
