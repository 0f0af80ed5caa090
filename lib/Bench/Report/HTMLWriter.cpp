//===- HTMLWriter.cpp - Tables for HTML pages -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/StringExtras.h"

using namespace cs336::bench;

static std::string escapeHTML(llvm::StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

namespace {
class HTMLWriter : public PageWriter {
  LineWidths getLineWidths() const override { return {/*separator=*/3, /*frame=*/4}; }
  bool hasCaptions() const override { return true; }

  void writeHeading(llvm::StringRef text, int level, llvm::raw_ostream &stream) const override {
    stream << "<h" << level << ">" << escapeHTML(text) << "</h" << level << ">\n";
  }

  void writePicture(llvm::StringRef path, llvm::StringRef title, llvm::raw_ostream &stream) const override {
    stream << "<p><img src=\"" << escapeHTML(path) << "\" alt=\"" << escapeHTML(title) << "\"></p>\n";
  }

  void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const override {
    llvm::SmallVector<llvm::StringRef> lines;
    text.split(lines, '\n');
    for (llvm::StringRef line : lines)
      stream << "<p>" << escapeHTML(line.ltrim()) << "</p>\n";
  }

  void writeListing(const Listing &listing, llvm::raw_ostream &stream) const override {
    stream << "<pre><code class=\"language-" << escapeHTML(listing.language) << "\">"
           << escapeHTML(llvm::StringRef(listing.text).rtrim('\n')) << "</code></pre>\n";
  }

  void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef caption,
                  llvm::raw_ostream &stream) const override {
    stream << "<table>\n";
    if (!caption.empty())
      stream << "  <caption>" << escapeHTML(caption) << "</caption>\n";
    auto writeRow = [&](llvm::StringRef tag, llvm::function_ref<llvm::StringRef(size_t)> getText) {
      stream << "  <tr>";
      for (size_t column : block.columns)
        stream << "<" << tag << (table.isText(column) ? "" : " style=\"text-align: right\"") << ">"
               << escapeHTML(getText(column)) << "</" << tag << ">";
      stream << "</tr>\n";
    };
    writeRow("th", [&](size_t column) -> llvm::StringRef { return table.getHeads()[column].title; });
    for (const std::vector<Cell> &row : table.getRows())
      writeRow("td", [&](size_t column) -> llvm::StringRef { return row[column].text; });
    stream << "</table>\n";
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createHTMLWriter() { return std::make_unique<HTMLWriter>(); }
