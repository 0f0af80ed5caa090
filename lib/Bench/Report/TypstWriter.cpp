//===- TypstWriter.cpp - Tables for Typst ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

/// Returns the text as a string literal, in which Typst does not read markup.
static std::string quoteTypst(llvm::StringRef text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

namespace {
class TypstWriter : public PageWriter {
  LineWidths getLineWidths() const override { return {/*separator=*/3, /*frame=*/4}; }
  bool hasCaptions() const override { return true; }

  void writeHeading(llvm::StringRef text, int level, llvm::raw_ostream &stream) const override {
    stream << "#heading(level: " << level << ", " << quoteTypst(text) << ")\n\n";
  }

  void writePicture(llvm::StringRef path, llvm::StringRef title, llvm::raw_ostream &stream) const override {
    stream << "#figure(\n  caption: " << quoteTypst(title) << ",\n  image(" << quoteTypst(path) << "),\n)\n";
  }

  void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const override {
    llvm::SmallVector<llvm::StringRef> lines;
    text.split(lines, '\n');
    for (llvm::StringRef line : lines)
      stream << "#par(" << quoteTypst(line.ltrim()) << ")\n";
  }

  void writeListing(const Listing &listing, llvm::raw_ostream &stream) const override {
    stream << "#raw(block: true, lang: " << quoteTypst(listing.language) << ", "
           << quoteTypst(llvm::StringRef(listing.text).rtrim('\n')) << ")\n";
  }

  void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef caption,
                  llvm::raw_ostream &stream) const override {
    stream << "#figure(\n";
    if (!caption.empty())
      stream << "  caption: " << quoteTypst(caption) << ",\n";
    stream << "  table(\n    columns: " << block.columns.size() << ",\n    align: (";
    for (size_t column : block.columns)
      stream << (table.isText(column) ? "left, " : "right, ");
    stream << "),\n    table.header(";
    llvm::interleaveComma(block.columns, stream,
                          [&](size_t column) { stream << quoteTypst(table.getHeads()[column].title); });
    stream << "),\n";
    for (const std::vector<Cell> &row : table.getRows()) {
      stream << "    ";
      llvm::interleaveComma(block.columns, stream, [&](size_t column) { stream << quoteTypst(row[column].text); });
      stream << ",\n";
    }
    stream << "  ),\n)\n";
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createTypstWriter() { return std::make_unique<TypstWriter>(); }
