//===- OutputFlags.h - Where and how a report is written --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_OUTPUTFLAGS_H
#define CS336_BENCH_COMMAND_OUTPUTFLAGS_H

#include "cs336/Bench/Report/ReportWriter.h"
#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "cs336/Support/EnumParser.h"
#include "llvm/Support/CommandLine.h"

namespace cs336::bench {

/// `--format`, `--columns` and `--output` of a command.
class OutputFlags {
public:
  OutputFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Checks the flags, before anything is measured. Returns INVALID_ARGUMENT if `--columns` names a column that the
  /// first table does not have, and NOT_FOUND if the folder of `--output` does not exist.
  absl::Status check(llvm::ArrayRef<ColumnHead> columns) const;
  template <typename Row>
  absl::Status check(const std::vector<Column<Row>> &columns) const {
    return check(std::vector<ColumnHead>(columns.begin(), columns.end()));
  }

  /// Writes the report, with the selected columns of its first table, to standard output or, completely or not at all,
  /// to the file of `--output`. As CSV, each further table goes to a file of its own: NAME-TABLE.csv beside NAME.csv.
  /// The report of a sweep that ended before its first cell does not replace the file of an earlier run.
  absl::Status write(Report report) const;

  /// The flag and its file, for CompileFlags::checkOutputs.
  OutputPath getPath() const { return {"--output", path}; }

private:
  llvm::cl::opt<Format, /*ExternalStorage=*/false, EnumParser<Format>> format;
  llvm::cl::list<std::string> columns;
  TextFlag path;
};

/// Returns the path of the table `name`: "plan-phases.csv" for "phases", if the first table is in "plan.csv".
std::string getTablePath(llvm::StringRef path, llvm::StringRef name);

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_OUTPUTFLAGS_H
