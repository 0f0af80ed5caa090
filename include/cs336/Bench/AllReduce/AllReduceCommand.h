//===- AllReduceCommand.h - cs336-bench allreduce ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H
#define CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H

#include "cs336/Bench/AllReduce/AllReduceBenchmark.h"
#include "cs336/Bench/AllReduce/CollectivePeer.h"
#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Peer/PeerFlags.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/runtime/RankEnvironment.h"

#include <string>

namespace cs336::bench {

/// A collective of one group, and the time until the group could run.
struct AllReduceRow {
  Backend backend;
  int ranks;
  double startupMilliseconds = 0;
  AllReduceTimes times;
  /// The variant of PyTorch that was measured. Empty for this program's own collectives.
  std::string peer = "";
  /// The reason why there are no times; otherwise OK.
  absl::Status status = absl::OkStatus();
};

/// Returns the cases of this program's rows that a variant of PyTorch has to measure: those that have times and that
/// `rows` lack. PyTorch exchanges data in one way on each kind of device, so that backends on GPUs share its rows.
std::vector<CollectiveCase> listPeerCases(llvm::StringRef variant, llvm::ArrayRef<AllReduceRow> own,
                                          llvm::ArrayRef<AllReduceRow> rows);

/// Returns this program's row that PyTorch's row is compared with: the fastest of the same case, among those of the
/// same backend or, on GPUs, of all backends. Null for this program's rows, for a row without times, and if there is
/// none.
const AllReduceRow *findCompared(const AllReduceRow &row, llvm::ArrayRef<AllReduceRow> rows);

/// The subcommand `allreduce`: the bandwidth of all-reduces and other collectives between ranks that are processes or
/// threads, by the number of ranks and the size. It starts the processes itself: each runs the same command as one
/// rank, and rank 0 writes its results to a file.
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
  /// Returns an error if `--backend nccl` has fewer GPUs than ranks.
  absl::Status checkGPUs() const;
  /// Returns null without `--peer`.
  absl::StatusOr<std::unique_ptr<CollectivePeer>> startPeer() const;
  /// Measures every combination of backends and numbers of ranks.
  absl::Status measureAll(CollectivePeer *torch, std::vector<AllReduceRow> &rows) const;
  AllReducePlan getPlan() const;
  /// Measures as one rank of a group of processes. After each case, rank 0 writes the file of `--output`, if it is
  /// given.
  absl::Status measureAsRank(const runtime::RankEnvironment &place, llvm::StringRef commandLine,
                             std::vector<AllReduceRow> &rows) const;
  absl::Status measureAsThreads(int number, std::vector<AllReduceRow> &rows) const;
  /// Starts processes, and reads the results of rank 0. If a signal ends the processes, returns CANCELLED and adds the
  /// complete rows.
  absl::Status measureOnProcesses(Backend backend, int number, std::vector<AllReduceRow> &rows) const;
  /// Writes the rows. `end` is what ended their measurement.
  absl::Status write(llvm::StringRef commandLine, llvm::ArrayRef<AllReduceRow> rows, const absl::Status &end) const;

  std::string program;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"All-reduce"};
  ListFlag<std::string> collectives, sizes, dtypes, operations;
  ListFlag<int> ranks;
  llvm::cl::alias processes;
  ListFlag<Backend, EnumParser<Backend>> backends;
  llvm::cl::opt<int64_t> warmup, steps;
  RealFlag timeout;
  PeerFlags peer;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_ALLREDUCECOMMAND_H
