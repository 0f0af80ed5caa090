//===- Command.h - A subcommand of cs336-bench ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_COMMAND_H
#define CS336_BENCH_COMMAND_COMMAND_H

#include "cs336/Bench/Report/Column.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <vector>

namespace cs336::bench {

/// A subcommand with its flags.
class Command {
public:
  virtual ~Command() = default;

  virtual llvm::cl::SubCommand &getSubCommand() = 0;
  /// Moves LLVM's own options from --help to --help-hidden. Call before parsing.
  virtual void hideOtherOptions() = 0;
  /// Returns the columns of the command's first table, without those of a peer.
  virtual std::vector<ColumnHead> getColumns() const = 0;
  /// Writes results to standard output and progress to standard error. Results in JSON contain `commandLine`, the
  /// command that produced them.
  virtual absl::Status run(llvm::StringRef commandLine) = 0;
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_COMMAND_H
