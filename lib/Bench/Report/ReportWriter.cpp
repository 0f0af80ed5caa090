//===- ReportWriter.cpp - The formats of a report -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/ReportWriter.h"

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace cs336::bench;

ReportWriter::~ReportWriter() = default;

std::unique_ptr<ReportWriter> ReportWriter::create(Format format) {
  switch (format) {
  case Format::Table:
    return createTextWriter();
  case Format::Markdown:
    return createMarkdownWriter();
  case Format::LaTeX:
    return createLatexWriter();
  case Format::Typst:
    return createTypstWriter();
  case Format::HTML:
    return createHTMLWriter();
  case Format::CSV:
    return createCSVWriter();
  case Format::JSON:
    return createJSONWriter();
  }
  llvm_unreachable("every format has a writer");
}

/// Returns the footnotes of the cells that the layout shows, each once, in the order of columns.
static std::vector<std::string> getFootnotes(const Table &table, const Layout &layout) {
  std::vector<std::string> footnotes;
  for (const Layout::Block &block : layout.blocks)
    for (size_t column : block.columns)
      for (const std::vector<Cell> &row : table.getRows())
        if (const std::string &footnote = row[column].footnote;
            !footnote.empty() && !llvm::is_contained(footnotes, footnote))
          footnotes.push_back(footnote);
  return footnotes;
}

void PageWriter::write(const Report &report, llvm::raw_ostream &stream) const {
  llvm::StringRef separator;
  auto writeParagraph = [&](llvm::StringRef text) {
    if (text.empty())
      return;
    stream << separator;
    writeText(text, stream);
    separator = "\n";
  };
  for (const Table &table : report.tables) {
    Layout layout = layOut(table, getLineWidths());
    std::string caption = table.getTitle().str();
    if (!caption.empty() && !layout.shared.empty())
      caption += "; ";
    caption += layout.shared;
    if (!hasCaptions()) {
      writeParagraph(table.getTitle());
      writeParagraph(layout.shared);
    }
    for (const Layout::Block &block : layout.blocks) {
      stream << separator;
      writeBlock(table, block, hasCaptions() && &block == &layout.blocks.front() ? caption : "", stream);
      separator = "\n";
    }
    for (const std::string &footnote : getFootnotes(table, layout))
      writeParagraph(footnote);
  }
  for (const Listing &listing : report.listings) {
    writeParagraph(listing.title);
    stream << separator;
    writeListing(listing, stream);
    separator = "\n";
  }
  for (const std::string &note : report.notes) {
    stream << (&note == &report.notes.front() ? separator : "");
    writeText(note, stream);
  }
}
