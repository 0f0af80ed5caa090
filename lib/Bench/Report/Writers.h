//===- Writers.h - The formats of a report ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_REPORT_WRITERS_H
#define CS336_LIB_BENCH_REPORT_WRITERS_H

#include "Layout.h"
#include "cs336/Bench/Report/ReportWriter.h"

namespace cs336::bench {

/// A format for pages: tables below each other with their titles, then the notes.
class PageWriter : public ReportWriter {
public:
  void write(const Report &report, llvm::raw_ostream &stream) const final;

protected:
  virtual LineWidths getLineWidths() const = 0;
  /// Writes a paragraph of plain text.
  virtual void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const = 0;
  /// Writes the lines of a listing as they are. The title is a paragraph above it.
  virtual void writeListing(const Listing &listing, llvm::raw_ostream &stream) const = 0;
  /// Writes one block. `caption` is the title and the shared settings of its table if `hasCaptions`, or empty.
  virtual void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef caption,
                          llvm::raw_ostream &stream) const = 0;
  /// True if a table's title and shared settings are part of the table. Otherwise they are paragraphs above it.
  virtual bool hasCaptions() const { return false; }
};

std::unique_ptr<ReportWriter> createTextWriter();
std::unique_ptr<ReportWriter> createMarkdownWriter();
std::unique_ptr<ReportWriter> createLatexWriter();
std::unique_ptr<ReportWriter> createTypstWriter();
std::unique_ptr<ReportWriter> createHTMLWriter();
std::unique_ptr<ReportWriter> createCSVWriter();
std::unique_ptr<ReportWriter> createJSONWriter();

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_REPORT_WRITERS_H
