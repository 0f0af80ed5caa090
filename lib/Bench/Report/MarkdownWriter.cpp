//===- MarkdownWriter.cpp - Tables for Markdown pages ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

/// Escapes the text for one cell, in which a bar would start another cell.
static std::string escapeMarkdown(llvm::StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '|' ? "\\|" : std::string(1, c == '\n' ? ' ' : c);
  return escaped;
}

namespace {
class MarkdownWriter : public PageWriter {
  LineWidths getLineWidths() const override { return {/*separator=*/3, /*frame=*/4}; }

  void writeHeading(llvm::StringRef text, int level, llvm::raw_ostream &stream) const override {
    stream << std::string(level, '#') << " " << text << "\n\n";
  }

  void writePicture(llvm::StringRef path, llvm::StringRef title, llvm::raw_ostream &stream) const override {
    stream << "![" << title << "](" << path << ")\n";
  }

  void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const override { writeLines(text, stream); }

  void writeListing(const Listing &listing, llvm::raw_ostream &stream) const override {
    stream << "```" << listing.language << "\n" << llvm::StringRef(listing.text).rtrim('\n') << "\n```\n";
  }

  void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef,
                  llvm::raw_ostream &stream) const override {
    std::vector<size_t> widths = block.widths;
    std::vector<bool> isLeft;
    for (auto [column, width] : llvm::zip_equal(block.columns, widths)) {
      isLeft.push_back(table.isText(column));
      for (const std::vector<Cell> &row : table.getRows())
        width = std::max(width, getWidth(escapeMarkdown(row[column].text)));
    }
    auto writeRow = [&](llvm::function_ref<llvm::StringRef(size_t)> getText) {
      stream << "|";
      for (auto [i, column] : llvm::enumerate(block.columns)) {
        std::string text = escapeMarkdown(getText(column));
        size_t padding = widths[i] - getWidth(text);
        stream.indent(1 + (isLeft[i] ? 0 : padding)) << text;
        stream.indent(1 + (isLeft[i] ? padding : 0)) << "|";
      }
      stream << "\n";
    };
    writeRow([&](size_t column) -> llvm::StringRef { return table.getHeads()[column].title; });
    stream << "|";
    for (auto [width, left] : llvm::zip_equal(widths, isLeft))
      stream << std::string(width + 1, '-') << (left ? "-" : ":") << "|";
    stream << "\n";
    for (const std::vector<Cell> &row : table.getRows())
      writeRow([&](size_t column) -> llvm::StringRef { return row[column].text; });
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createMarkdownWriter() { return std::make_unique<MarkdownWriter>(); }
