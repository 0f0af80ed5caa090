//===- AllReduceCommand.h - cs336-bench allreduce ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H
#define CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H

#include "cs336/Bench/AllReduce/AllReduceBenchmark.h"
#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/runtime/RankEnvironment.h"

#include <string>

namespace cs336::bench {

/// All-reduces of one group, and how long it took to form.
struct AllReduceRow {
  Backend backend;
  int ranks;
  double startupMilliseconds;
  AllReduceTimes times;
};

/// The subcommand `allreduce`: the bandwidth of all-reduces between ranks that are processes or threads, by the number
/// of ranks and the size. It starts the processes itself: each runs the same command as one rank, and rank 0 writes its
/// results to a file.
class AllReduceCommand : public Command {
public:
  /// `program` is the path of this program.
  explicit AllReduceCommand(std::string program);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  absl::Status run(llvm::StringRef commandLine) override;

private:
  absl::Status check() const;
  AllReducePlan getPlan() const;
  /// Measures as one rank of a group of processes.
  absl::StatusOr<std::vector<AllReduceRow>> measureAsRank(const runtime::RankEnvironment &place) const;
  /// Starts processes, and reads the results of rank 0.
  absl::StatusOr<std::vector<AllReduceRow>> measureOnProcesses(int number) const;

  std::string program;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"All-reduce"};
  llvm::cl::list<std::string> sizes, dtypes, operations;
  llvm::cl::list<int> ranks;
  llvm::cl::list<Backend, bool, EnumParser<Backend>> backends;
  llvm::cl::opt<int64_t> warmup, steps;
  RealFlag timeout;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H
