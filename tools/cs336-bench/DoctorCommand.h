//===- DoctorCommand.h - cs336-bench doctor ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_DOCTORCOMMAND_H
#define CS336_TOOLS_BENCH_DOCTORCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Driver/Flags/FlagParsers.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// The subcommand `doctor`: lists the parts of this machine with their versions, and the features that do not work
/// because a part is missing. A missing part is not an error.
class DoctorCommand : public Command {
public:
  DoctorCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Prints the table to standard output.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Looking"};
  TextFlag peerPython;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_DOCTORCOMMAND_H
