//===- DDPCommand.h - cs336-bench ddp ---------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_DDPCOMMAND_H
#define CS336_BENCH_DDP_DDPCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/DistributionFlags.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/DDP/DDPPeer.h"
#include "cs336/Bench/DDP/DDPReport.h"
#include "cs336/Bench/Peer/PeerFlags.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/ExchangeFlag.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Driver/Flags/MemoryLimitFlag.h"
#include "cs336/Driver/Flags/ModelFlags.h"
#include "cs336/Driver/Run/TraceFile.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// The subcommand `ddp`, which measures training steps of one model on several ranks, for each mode of exchange. It
/// starts the ranks as processes of this program.
class DDPCommand : public Command {
public:
  /// `program` is the path of this program.
  explicit DDPCommand(std::string program);

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Measures every combination of the flags' values and prints the report. If ranks fail, the row has the reason as
  /// its status, and the sweep continues. A signal ends the sweep, and the report contains the rows that were measured
  /// before.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// The traces of all ranks of the last cell that completed its steps; none if no cell did.
  struct CellTrace {
    std::string cell;
    std::vector<RankTrace> ranks;
  };

  absl::Status check() const;
  /// Returns the numbers of `--ranks`, or the default of the device.
  absl::StatusOr<std::vector<int>> getRanks() const;
  /// Returns the rows to measure, without measurements.
  absl::StatusOr<std::vector<DDPRow>> getCells() const;
  /// Returns null without `--peer`.
  absl::StatusOr<std::unique_ptr<DDPPeer>> startPeer() const;
  /// Measures the cells in order. After an error, `rows` and `traced` have the results of the cells before it.
  absl::Status measureAll(std::vector<DDPRow> cells, const CompileOptions &compileOptions, DDPPeer *peer,
                          std::vector<DDPRow> &rows, CellTrace &traced) const;
  /// Writes the trace to the file of `--trace`, if the flag is given. Prints a warning if the trace is not that of the
  /// cell `last`. Without a trace, prints a warning and does not change the file.
  absl::Status writeTraceOf(const CellTrace &traced, llvm::StringRef last) const;
  DDPOptions getOptions() const;
  absl::Status runAsRank() const;

  std::string program;
  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Measuring"};
  llvm::cl::OptionCategory modelCategory{"The model"};
  ModelFlags model;
  DistributionFlags distributions;
  ListFlag<int> ranks;
  llvm::cl::alias processes;
  llvm::cl::opt<int64_t> warmup;
  llvm::cl::opt<int64_t> steps;
  DeviceFlag device;
  llvm::cl::opt<int> numThreads;
  llvm::cl::opt<uint64_t> seed;
  MemoryLimitFlag memoryLimit;
  RealFlag timeout;
  ExchangeFlag exchange;
  PeerFlags peer;
  llvm::cl::opt<bool> noProfile;
  llvm::cl::opt<bool> memoryTables;
  TextFlag trace;
  TextFlag asRank;
  OutputFlags output;
  CompileFlags compile;
};

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_DDPCOMMAND_H
