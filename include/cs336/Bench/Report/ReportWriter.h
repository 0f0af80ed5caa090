//===- ReportWriter.h - The formats of a report -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_REPORTWRITER_H
#define CS336_BENCH_REPORT_REPORTWRITER_H

#include "cs336/Bench/Report/Report.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace cs336::bench {

enum class Format { Table, Markdown, CSV, JSON, LaTeX, Typst, HTML };

/// The maximum width of a line in the table format with the default columns, and of a line of plain text.
inline constexpr size_t kPageWidth = 120;

/// A format of reports.
class ReportWriter {
public:
  static std::unique_ptr<ReportWriter> create(Format format);
  virtual ~ReportWriter();

  virtual void write(const Report &report, llvm::raw_ostream &stream) const = 0;
  /// Writes a heading, of level 1 or 2, above reports that share a page. CSV and JSON have no headings.
  virtual void writeHeading(llvm::StringRef text, int level, llvm::raw_ostream &stream) const {}
  /// Writes the picture in a file, whose path is relative to the page. CSV and JSON have no pictures.
  virtual void writePicture(llvm::StringRef path, llvm::StringRef title, llvm::raw_ostream &stream) const {}
  /// Returns whether each table of a report is written to a separate file, because a file has one header.
  virtual bool hasOneTablePerFile() const { return false; }
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_REPORTWRITER_H
