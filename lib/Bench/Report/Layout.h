//===- Layout.h - What a table shows where ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_REPORT_LAYOUT_H
#define CS336_LIB_BENCH_REPORT_LAYOUT_H

#include "cs336/Bench/Report/Table.h"

namespace cs336::bench {

/// The width of text in a terminal, where "µ" is one column.
size_t getWidth(llvm::StringRef text);

/// How wide the lines of a format are beside their cells.
struct LineWidths {
  size_t separator, frame;
};

/// What of a table stands where, within kPageWidth.
struct Layout {
  /// Columns of one block, and how wide their cells are.
  struct Block {
    std::vector<size_t> columns, widths;
  };

  /// "batch: 4, context: 256": settings that all rows share. Empty if there are none.
  std::string shared;
  /// One below the other, each with the settings that rows differ in. There is one unless it would be too wide.
  std::vector<Block> blocks;
};

/// Lays the table out. Selected columns are one block, however wide. The first setting is never among the shared ones
/// if no other column tells what a row is.
Layout layOut(const Table &table, LineWidths line);

/// Breaks the text into lines of at most `width` columns: at spaces, and within a word that is longer than a line.
std::vector<std::string> breakLines(llvm::StringRef text, size_t width);

/// Writes the text, whose lines may be wider, in lines of at most kPageWidth columns.
void writeLines(llvm::StringRef text, llvm::raw_ostream &stream);

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_REPORT_LAYOUT_H
