//===- CompareCommand.h - cs336-bench compare -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMPARE_COMPARECOMMAND_H
#define CS336_BENCH_COMPARE_COMPARECOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Driver/Flags/FlagParsers.h"

namespace cs336::bench {

/// The subcommand `compare`: the times in two files of results, and which of them differ by more than noise.
class CompareCommand : public Command {
public:
  /// `commands` describe the columns of files without a schema.
  explicit CompareCommand(llvm::ArrayRef<Command *> commands);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  /// Without the settings, which the files name.
  std::vector<ColumnHead> getColumns() const override;
  /// Prints a row for every time. Returns FAILED_PRECONDITION after that if a time is slower and `--fail-on-slower` is
  /// given.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  std::vector<Command *> commands;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Comparison"};
  llvm::cl::opt<std::string, /*ExternalStorage=*/false, NonEmptyTextParser> before, after;
  llvm::cl::opt<double, /*ExternalStorage=*/false, FiniteNumberParser> tolerance;
  llvm::cl::opt<bool> failOnSlower;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMPARE_COMPARECOMMAND_H
