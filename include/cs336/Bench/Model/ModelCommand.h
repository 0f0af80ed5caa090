//===- ModelCommand.h - cs336-bench model -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELCOMMAND_H
#define CS336_BENCH_MODEL_MODELCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Forecast/Forecast.h"
#include "cs336/Bench/Forecast/PeakRate.h"
#include "cs336/Bench/Model/ModelReport.h"
#include "cs336/Bench/Peer/PeerFlags.h"
#include "cs336/Bench/Plan/TimelineFiles.h"
#include "cs336/Bench/Published/PublishedFlag.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Driver/Flags/MemoryLimitFlag.h"
#include "cs336/Driver/Flags/ModelFlags.h"
#include "cs336/Driver/Flags/NoGraphFlag.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// The subcommand `model`, which measures steps of whole models.
class ModelCommand : public Command {
public:
  ModelCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Measures every combination of the flags' values and prints the report to standard output. The first error that is
  /// neither a lack of memory nor an unsupported type ends the command. After an interruption, the report contains only
  /// the rows that were measured before.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  absl::Status checkFlags() const;
  /// Null without --peer, and with --forecast.
  absl::StatusOr<std::unique_ptr<TorchPeer>> startPeer(const MeasureOptions &options) const;
  absl::Status measureAll(llvm::ArrayRef<ModelDescription> descriptions, const MeasureOptions &options,
                          const Forecast &forecast, PeakRates &peaks, std::vector<ModelRow> &rows) const;
  /// Profiles the rows, after all of them were measured: on a GPU, later steps of the process may take longer.
  absl::Status profileAll(const MeasureOptions &options, PeakRates &peaks, std::vector<ModelRow> &rows) const;
  /// Writes the profile's trace if `--trace` names a file. There is one row at most.
  absl::Status writeTraceOf(llvm::ArrayRef<ModelRow> rows) const;
  /// Writes memory over measured time if `--timeline` or `--snapshot` name files. There is one row at most.
  absl::Status writeTimelineOf(llvm::ArrayRef<ModelRow> rows, llvm::json::Object context) const;
  /// Warns of each file of these flags that stays as it is because the model did not run.
  void warnOfMissingFiles(llvm::ArrayRef<ModelRow> rows) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Measuring"};
  llvm::cl::OptionCategory modelCategory{"The model"};
  ModelFlags model;
  ListFlag<int64_t> warmups;
  llvm::cl::alias warmupsAlias;
  llvm::cl::opt<int64_t> steps;
  llvm::cl::alias stepsAlias;
  DeviceFlag device;
  llvm::cl::opt<bool> backward;
  llvm::cl::opt<bool> includeOptimizer;
  llvm::cl::opt<int> numThreads;
  llvm::cl::opt<uint64_t> seed;
  MemoryLimitFlag memoryLimit;
  PeerFlags peer;
  llvm::cl::opt<bool> perStep;
  ProfileFlags profile;
  TimelineFiles timeline;
  llvm::cl::opt<bool> memoryTables;
  NoGraphFlag noGraph;
  llvm::cl::opt<bool> noMFU;
  ForecastFlag forecastOnly;
  OutputFlags output;
  PublishedFlag published;
  CompileFlags compile;
};

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELCOMMAND_H
