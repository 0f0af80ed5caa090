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
  /// The data of the whole report: the members of the JSON document beside those of its schema and "results".
  llvm::json::Object context;
  /// Never empty. JSON has the first one alone, whose Data columns repeat what the others show.
  std::vector<Table> tables;
  /// Lines below the tables and listings; CSV and JSON have none.
  std::vector<std::string> notes;
  /// Between the tables and the notes; CSV and JSON have none.
  std::vector<Listing> listings = {};
};

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_REPORT_H
