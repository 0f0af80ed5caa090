//===- TextWriter.cpp - Tables for terminals ------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

namespace {
class TextWriter : public PageWriter {
  LineWidths getLineWidths() const override { return {/*separator=*/2, /*frame=*/0, kPageWidth}; }

  void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const override { writeLines(text, stream); }

  void writeListing(const Listing &listing, llvm::raw_ostream &stream) const override {
    stream << llvm::StringRef(listing.text).rtrim('\n') << "\n";
  }

  void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef,
                  llvm::raw_ostream &stream) const override {
    std::vector<bool> isLeft;
    for (size_t column : block.columns)
      isLeft.push_back(table.isText(column));
    auto writeRow = [&](llvm::function_ref<llvm::StringRef(size_t)> getText) {
      std::vector<std::vector<std::string>> cells;
      size_t height = 0;
      for (auto [column, width] : llvm::zip_equal(block.columns, block.widths))
        height = std::max(height, cells.emplace_back(breakLines(getText(column), width)).size());
      for (size_t line = 0; line < height; ++line)
        writeLine(cells, line, block, isLeft, stream);
    };
    writeRow([&](size_t column) -> llvm::StringRef { return table.getHeads()[column].title; });
    for (const std::vector<Cell> &row : table.getRows())
      writeRow([&](size_t column) -> llvm::StringRef { return row[column].text; });
  }

  /// Writes one line of cells that are broken into lines.
  static void writeLine(llvm::ArrayRef<std::vector<std::string>> cells, size_t line, const Layout::Block &block,
                        const std::vector<bool> &isLeft, llvm::raw_ostream &stream) {
    size_t pending = 0; // Spaces that are written only if text follows.
    for (auto [i, cell] : llvm::enumerate(cells)) {
      llvm::StringRef text = line < cell.size() ? llvm::StringRef(cell[line]) : "";
      size_t padding = block.widths[i] - getWidth(text);
      pending += i > 0 ? 2 : 0;
      if (text.empty()) {
        pending += padding;
        continue;
      }
      stream.indent(pending + (isLeft[i] ? 0 : padding)) << text;
      pending = isLeft[i] ? padding : 0;
    }
    stream << "\n";
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createTextWriter() { return std::make_unique<TextWriter>(); }
