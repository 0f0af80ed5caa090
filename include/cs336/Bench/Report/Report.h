//===- Report.h - Results as tables, CSV and JSON ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_REPORT_H
#define CS336_BENCH_REPORT_REPORT_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace cs336::bench {

enum class Format { Table, Markdown, CSV, JSON };

/// A value as people read it and as programs do. Without text the value is not shown in tables.
struct Cell {
  Cell(std::string text) : text(text), value(std::move(text)) {}
  Cell(std::string text, llvm::json::Value value) : text(std::move(text)), value(std::move(value)) {}

  /// With this many digits after the point.
  static Cell number(double number, int digits);
  static Cell integer(int64_t number) { return {std::to_string(number), number}; }
  static Cell empty() { return {"", nullptr}; }
  /// Without text, as `empty`.
  static Cell optional(std::string text) { return text.empty() ? empty() : Cell(std::move(text)); }

  std::string text;
  llvm::json::Value value;
};

/// Rows of equally many cells under named columns; what concerns all rows stands in front of them in JSON.
class Report {
public:
  /// `title` heads the column for people and states the unit; `key` names it for programs.
  struct Column {
    std::string title;
    std::string key;
    /// Only programs get it: it would not fit in a table.
    bool isDetail = false;
  };

  Report(std::vector<Column> columns, llvm::json::Object context)
      : columns(std::move(columns)), context(std::move(context)) {}

  void addRow(std::vector<Cell> row);
  /// An object for every row, by the columns' keys.
  llvm::json::Array getRows() const;
  void print(Format format, llvm::raw_ostream &stream) const;

private:
  void printAligned(bool isMarkdown, llvm::raw_ostream &stream) const;
  void printCSV(llvm::raw_ostream &stream) const;
  void printJSON(llvm::raw_ostream &stream) const;

  std::vector<Column> columns;
  llvm::json::Object context;
  std::vector<std::vector<Cell>> rows;
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_REPORT_H
