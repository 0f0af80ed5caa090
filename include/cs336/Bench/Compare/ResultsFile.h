//===- ResultsFile.h - Results that a command has written -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMPARE_RESULTSFILE_H
#define CS336_BENCH_COMPARE_RESULTSFILE_H

#include "cs336/Bench/Report/ResultsSchema.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// The results of one command.
struct ResultsDocument {
  /// Returns the column with this key, or null.
  const ColumnDescription *findColumn(llvm::StringRef key) const;

  std::string benchmark;
  /// The member "device"; empty if the document has none.
  llvm::json::Object device;
  /// For version 1: the columns of this program that the rows have.
  std::vector<ColumnDescription> columns;
  std::vector<llvm::json::Object> rows;
};

/// The results in a file.
struct ResultsFile {
  std::string path;
  /// The version of all documents.
  int64_t version;
  /// Never empty.
  std::vector<ResultsDocument> documents;
};

/// Returns the columns of the subcommand `benchmark`, or an empty vector if there is no such subcommand.
using FindColumns = llvm::function_ref<std::vector<ColumnHead>(llvm::StringRef benchmark)>;

/// Reads a file that `--format json` has written: one document, or the array of a study. Also reads records of
/// benchmarks/results, which have documents as their member "documents". `findColumns` describes the columns of
/// documents of version 1. Returns INVALID_ARGUMENT, naming the file, if the file cannot be read, is not JSON, has
/// another schema or another version than 1 and 2, or mixes versions.
absl::StatusOr<ResultsFile> readResultsFile(llvm::StringRef path, FindColumns findColumns);

} // namespace cs336::bench

#endif // CS336_BENCH_COMPARE_RESULTSFILE_H
