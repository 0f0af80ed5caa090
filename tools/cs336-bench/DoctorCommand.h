//===- DoctorCommand.h - cs336-bench doctor ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_DOCTORCOMMAND_H
#define CS336_TOOLS_BENCH_DOCTORCOMMAND_H

#include "Report.h"

#include "absl/status/status.h"
#include "llvm/Support/CommandLine.h"

namespace cs336::bench {

/// The subcommand `doctor`: what of the machine's parts are there, in which versions, and what does not work without
/// those that are missing. A part that is missing is no error.
class DoctorCommand {
public:
  DoctorCommand();

  llvm::cl::SubCommand &getSubCommand() { return subcommand; }
  /// Leaves LLVM's own options out of --help. Call before parsing.
  void hideOtherOptions();
  /// Prints the table to standard output.
  absl::Status run();

private:
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Looking"};
  llvm::cl::opt<std::string> peerPython;
  llvm::cl::opt<Format> format;
};

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_DOCTORCOMMAND_H
