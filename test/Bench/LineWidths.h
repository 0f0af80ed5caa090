//===- LineWidths.h - How wide printed tables are ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_BENCH_LINEWIDTHS_H
#define CS336_TEST_BENCH_LINEWIDTHS_H

#include "cs336/Bench/Report/ReportWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Unicode.h"

namespace cs336::bench {

inline std::string print(const Report &report, Format format) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ReportWriter::create(format)->write(report, stream);
  return text;
}

/// The widest line, in columns of a terminal.
inline int getWidestLine(llvm::StringRef text) {
  int widest = 0;
  for (llvm::StringRef line : llvm::split(text, '\n'))
    widest = std::max(widest, llvm::sys::unicode::columnWidthUTF8(line));
  return widest;
}

} // namespace cs336::bench

#endif // CS336_TEST_BENCH_LINEWIDTHS_H
