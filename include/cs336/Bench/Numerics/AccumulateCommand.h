//===- AccumulateCommand.h - cs336-bench accumulate -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_NUMERICS_ACCUMULATECOMMAND_H
#define CS336_BENCH_NUMERICS_ACCUMULATECOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Published/PublishedFlag.h"
#include "cs336/Driver/Flags/CompileFlags.h"

#include "absl/status/statusor.h"

#include <vector>

namespace cs336::bench {

/// The subcommand `accumulate`, which adds a number to zero many times with compiled kernels: in float32, in float16,
/// and a float16 number in float32.
class AccumulateCommand : public Command {
public:
  AccumulateCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Prints the sums to standard output.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// The sums in the order of the rows.
  absl::StatusOr<std::vector<double>> accumulate(const CompileOptions &options) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Adding"};
  RealFlag value;
  llvm::cl::opt<int64_t> count;
  llvm::cl::opt<bool> printProgram;
  DeviceFlag device;
  OutputFlags output;
  PublishedFlag published;
  CompileFlags compile;
};

} // namespace cs336::bench

#endif // CS336_BENCH_NUMERICS_ACCUMULATECOMMAND_H
