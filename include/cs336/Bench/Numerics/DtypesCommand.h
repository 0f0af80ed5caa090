//===- DtypesCommand.h - cs336-bench dtypes ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_NUMERICS_DTYPESCOMMAND_H
#define CS336_BENCH_NUMERICS_DTYPESCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Pipelines/Pipelines.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// The subcommand `dtypes`, which shows the types of all values of a program after the autocast pass, and of the
/// gradients.
class DtypesCommand : public Command {
public:
  DtypesCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Prints a row for every value to standard output.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  llvm::SmallVector<ComputeType> getTypes() const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Types"};
  llvm::cl::opt<std::string> program;
  ListFlag<ComputeType> dtypes;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_BENCH_NUMERICS_DTYPESCOMMAND_H
