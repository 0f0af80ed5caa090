//===- CSVWriter.cpp - Tables as comma-separated values -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

/// Returns the text, quoted if necessary (RFC 4180).
static std::string quoteField(llvm::StringRef text) {
  if (text.find_first_of(",\"\r\n") == llvm::StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

namespace {
/// Each table begins with its header; an empty line separates it from the one before.
class CSVWriter : public ReportWriter {
  bool hasOneTablePerFile() const override { return true; }

  void write(const Report &report, llvm::raw_ostream &stream) const override {
    llvm::interleave(report.tables, stream, [&](const Table &table) { writeTable(table, stream); }, "\n");
  }

  static void writeTable(const Table &table, llvm::raw_ostream &stream) {
    std::vector<size_t> columns;
    for (auto [column, head] : llvm::enumerate(table.getHeads()))
      if (head.show != Show::Data)
        columns.push_back(column);
    auto writeRow = [&](llvm::function_ref<llvm::StringRef(size_t)> getText) {
      llvm::interleave(columns, stream, [&](size_t column) { stream << quoteField(getText(column)); }, ",");
      stream << "\n";
    };
    writeRow([&](size_t column) -> llvm::StringRef { return table.getHeads()[column].key; });
    for (const std::vector<Cell> &row : table.getRows())
      writeRow([&](size_t column) -> llvm::StringRef { return row[column].text; });
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createCSVWriter() { return std::make_unique<CSVWriter>(); }
