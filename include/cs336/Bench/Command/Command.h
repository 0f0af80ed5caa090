//===- Command.h - A subcommand of cs336-bench ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_COMMAND_H
#define CS336_BENCH_COMMAND_COMMAND_H

#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// A subcommand: its flags, and what it does with them.
class Command {
public:
  virtual ~Command() = default;

  virtual llvm::cl::SubCommand &getSubCommand() = 0;
  /// Moves LLVM's own options from --help to --help-hidden. Call before parsing.
  virtual void hideOtherOptions() = 0;
  /// Prints results to standard output, and progress to the standard error stream. A JSON document contains
  /// `commandLine`.
  virtual absl::Status run(llvm::StringRef commandLine) = 0;
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_COMMAND_H
