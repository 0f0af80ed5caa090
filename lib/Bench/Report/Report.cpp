//===- Report.cpp - Results as tables, CSV and JSON -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"

#include <cassert>

using namespace cs336::bench;
namespace json = llvm::json;

Cell Cell::number(double number, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, number);
  return {std::move(text), number};
}

void Report::addRow(std::vector<Cell> row) {
  assert(row.size() == columns.size() && "a cell for every column");
  rows.push_back(std::move(row));
}

void Report::print(Format format, llvm::raw_ostream &stream) const {
  switch (format) {
  case Format::Table:
  case Format::Markdown:
    return printAligned(format == Format::Markdown, stream);
  case Format::CSV:
    return printCSV(stream);
  case Format::JSON:
    return printJSON(stream);
  }
}

/// Characters, not bytes: titles hold signs such as ±.
static size_t getWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : width;
}

void Report::printAligned(bool isMarkdown, llvm::raw_ostream &stream) const {
  std::vector<size_t> shown;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    bool isEmpty = llvm::all_of(rows, [&](const std::vector<Cell> &row) { return row[i].text.empty(); });
    if (columns[i].isDetail || isEmpty)
      continue;
    size_t width = getWidth(columns[i].title);
    for (const std::vector<Cell> &row : rows)
      width = std::max(width, getWidth(row[i].text));
    shown.push_back(i);
    widths.push_back(width);
  }

  llvm::StringRef separator = isMarkdown ? " | " : "  ";
  auto printLine = [&](llvm::function_ref<llvm::StringRef(size_t)> cell, llvm::function_ref<bool(size_t)> isLeft) {
    stream << (isMarkdown ? "| " : "");
    for (auto [position, column] : llvm::enumerate(shown)) {
      llvm::StringRef text = cell(column);
      size_t padding = widths[position] - getWidth(text);
      stream << (position ? separator : "");
      bool isLast = position + 1 == shown.size();
      if (!isLeft(column))
        stream.indent(padding) << text;
      else
        (stream << text).indent(isLast && !isMarkdown ? 0 : padding);
    }
    stream << (isMarkdown ? " |\n" : "\n");
  };
  // Numbers are aligned at their ends, and so are their titles.
  auto isText = [&](size_t column) {
    return llvm::any_of(rows,
                        [&](const std::vector<Cell> &row) { return row[column].value.kind() == json::Value::String; });
  };
  printLine([&](size_t column) -> llvm::StringRef { return columns[column].title; }, isText);
  if (isMarkdown) {
    stream << "|";
    for (auto [position, column] : llvm::enumerate(shown))
      stream << std::string(widths[position] + 1, '-') << (isText(column) ? "-" : ":") << "|";
    stream << "\n";
  }
  for (const std::vector<Cell> &row : rows)
    printLine([&](size_t column) -> llvm::StringRef { return row[column].text; }, isText);
}

/// Quoted where the text needs it (RFC 4180).
static std::string quoteCSV(llvm::StringRef text) {
  if (text.find_first_of(",\"\n") == llvm::StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

void Report::printCSV(llvm::raw_ostream &stream) const {
  llvm::interleave(
      columns, stream, [&](const Column &column) { stream << column.key; }, ",");
  stream << "\n";
  for (const std::vector<Cell> &row : rows) {
    llvm::interleave(
        row, stream, [&](const Cell &cell) { stream << quoteCSV(cell.text); }, ",");
    stream << "\n";
  }
}

json::Array Report::getRows() const {
  json::Array results;
  for (const std::vector<Cell> &row : rows) {
    json::Object result;
    for (auto [column, cell] : llvm::zip_equal(columns, row))
      result[column.key] = cell.value;
    results.push_back(std::move(result));
  }
  return results;
}

void Report::printJSON(llvm::raw_ostream &stream) const {
  json::Object document = context;
  document["results"] = getRows();
  stream << llvm::formatv("{0:2}", json::Value(std::move(document))) << "\n";
}
