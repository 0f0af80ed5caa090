//===- Cell.h - One value of a table ----------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_CELL_H
#define CS336_BENCH_REPORT_CELL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336::bench {

/// A value as text, for people and CSV, and as JSON. A cell without text is empty in tables.
struct Cell {
  Cell(std::string text) : text(text), value(std::move(text)) {}
  Cell(llvm::StringRef text) : Cell(text.str()) {}
  Cell(std::string text, llvm::json::Value value) : text(std::move(text)), value(std::move(value)) {}

  static Cell empty() { return {"", nullptr}; }
  /// A text without a value: "OOM" where a number is missing. `footnote` explains it below a table that shows it.
  static Cell note(llvm::StringRef text, std::string footnote = "") {
    Cell cell(text.str(), nullptr);
    cell.footnote = std::move(footnote);
    return cell;
  }
  /// A list or an object, which only JSON contains.
  static Cell data(llvm::json::Value value) { return {"", std::move(value)}; }
  /// A text; the cell is empty if the text is empty.
  static Cell optional(llvm::StringRef text) { return text.empty() ? empty() : Cell(text); }
  static Cell integer(int64_t number) { return {std::to_string(number), number}; }
  /// A number with `digits` digits after the point; the cell is empty without a number.
  static Cell number(std::optional<double> number, int digits);
  /// A number of bytes in MiB, with one digit after the point; the cell is empty without a number.
  static Cell mebibytes(std::optional<int64_t> bytes);
  /// The numbers as one text, separated by spaces.
  static Cell list(llvm::ArrayRef<double> numbers, int digits);

  std::string text;
  llvm::json::Value value;
  /// The note below a table that shows the cell. CSV and the values of JSON do not contain it.
  std::string footnote;
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_CELL_H
