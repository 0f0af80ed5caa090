//===- Layout.h - What a table shows where ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_REPORT_LAYOUT_H
#define CS336_LIB_BENCH_REPORT_LAYOUT_H

#include "cs336/Bench/Report/Table.h"

#include <optional>

namespace cs336::bench {

/// Returns the width of text in a terminal, where "µ" takes one column.
size_t getWidth(llvm::StringRef text);

/// The widths of the lines of a format.
struct LineWidths {
  /// The width between two cells, and around all of them.
  size_t separator, frame;
  /// The maximum width of a line. Without a limit, a table has one block, which includes its Wide columns.
  std::optional<size_t> limit = std::nullopt;
};

/// The arrangement of a table's columns within the width of a line.
struct Layout {
  /// Columns of one block, and the widths of their cells.
  struct Block {
    std::vector<size_t> columns, widths;
  };

  /// "batch: 4, context: 256": settings that all rows share. Empty if there are none.
  std::string shared;
  /// Blocks below each other. Each has the settings in which rows differ, or else the first Text column, which names
  /// the rows. There is one block if it is not too wide.
  std::vector<Block> blocks;
};

/// Arranges the table. Selected columns form one block of any width. The first setting is not shared if no other column
/// identifies the rows.
Layout layOut(const Table &table, LineWidths line);

/// Breaks the text into lines of at most `width` columns: at spaces, and within a word that is longer than a line.
std::vector<std::string> breakLines(llvm::StringRef text, size_t width);

/// Writes the text, whose lines may be wider, in lines of at most kPageWidth columns.
void writeLines(llvm::StringRef text, llvm::raw_ostream &stream);

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_REPORT_LAYOUT_H
