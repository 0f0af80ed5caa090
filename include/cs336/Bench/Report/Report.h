//===- Report.h - What a command prints -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_REPORT_H
#define CS336_BENCH_REPORT_REPORT_H

#include "cs336/Bench/Report/Table.h"

namespace cs336::bench {

/// Text whose lines and spaces are kept, such as code.
struct Listing {
  std::string title;
  /// The language for highlighting: "mlir", "cuda".
  std::string language;
  std::string text;
};

/// The output of a command: one or more tables. The first contains the results.
struct Report {
  /// The data of the whole report: the members of the JSON document beside those of its schema, "results" and "page".
  llvm::json::Object context;
  /// Never empty. JSON contains the values of only the first table, whose Data columns have those of the others.
  std::vector<Table> tables;
  /// Lines below the tables and listings; CSV does not contain them.
  std::vector<std::string> notes;
  /// Printed between the tables and the notes; CSV does not contain them.
  std::vector<Listing> listings = {};
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_REPORT_H
