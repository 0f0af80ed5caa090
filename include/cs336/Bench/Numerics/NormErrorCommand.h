//===- NormErrorCommand.h - cs336-bench norm-error --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_NUMERICS_NORMERRORCOMMAND_H
#define CS336_BENCH_NUMERICS_NORMERRORCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Driver/Flags/CompileFlags.h"

#include "absl/status/statusor.h"

#include <vector>

namespace cs336::bench {

/// The subcommand `norm-error`, which measures the error of layer norm relative to float64: computed in each type, and
/// computed in float32 from inputs of this type, as autocast does.
class NormErrorCommand : public Command {
public:
  NormErrorCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Prints a row for every level of fusion, mean and type to standard output.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// Relative errors in the order of the program's outputs.
  absl::StatusOr<std::vector<double>> measure(double mean, const CompileOptions &options) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Norm"};
  llvm::cl::opt<int64_t> rows, width;
  RealListFlag means;
  llvm::cl::opt<uint64_t> seed;
  DeviceFlag device;
  OutputFlags output;
  CompileFlags compile;
};

} // namespace cs336::bench

#endif // CS336_BENCH_NUMERICS_NORMERRORCOMMAND_H
