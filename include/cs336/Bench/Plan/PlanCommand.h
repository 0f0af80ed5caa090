//===- PlanCommand.h - cs336-bench plan -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PLANCOMMAND_H
#define CS336_BENCH_PLAN_PLANCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/DistributionFlags.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Forecast/Forecast.h"
#include "cs336/Bench/Plan/LinkFlags.h"
#include "cs336/Bench/Plan/PlanReport.h"
#include "cs336/Bench/Plan/TimelineFlags.h"
#include "cs336/Bench/Published/PublishedFlag.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/MemoryLimitFlag.h"
#include "cs336/Driver/Flags/ModelFlags.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// The subcommand `plan`, which computes the memory, kernels, FLOPs and bytes of a model's steps from the planned
/// program, without running it.
class PlanCommand : public Command {
public:
  PlanCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Plans every combination of the flags' values and prints the report to standard output. A model that does not fit
  /// is a result, not an error. After an interruption, the report contains only the models that were planned before.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// Returns INVALID_ARGUMENT for exchanges and numbers of ranks that have no effect or exclude each other.
  absl::Status checkRanks() const;
  /// Returns every pipeline with every exchange, the exchanges varying fastest.
  std::vector<PipelineVariant> getPipelines() const;
  /// Returns the row of a cell without its plan, or INVALID_ARGUMENT for types or options that exclude each other.
  absl::StatusOr<PlanRow> makeRow(const ModelDescription &description, const PipelineVariant &variant) const;
  absl::StatusOr<PlanRow> plan(const ModelDescription &description, const PipelineVariant &variant,
                               const CompileOptions &options) const;
  /// Adds the changes that make a row fit that exceeds its limit, or that has no plan within its memory budget.
  absl::Status addWaysToFit(const CompileOptions &options, PlanRow &row) const;
  /// Appends the plan of the block size that takes the least memory, those of its neighbours, and the one without
  /// recomputation.
  absl::Status planBestCheckpoint(const ModelDescription &description, const PipelineVariant &variant,
                                  const CompileOptions &options, std::vector<PlanRow> &rows) const;
  /// Appends the rows of one cell.
  absl::Status planCell(const ModelDescription &description, const PipelineVariant &variant,
                        const CompileOptions &options, std::vector<PlanRow> &rows) const;
  /// Plans the cells on several threads. After an error, `rows` has those of the cells before it.
  absl::Status planAll(llvm::ArrayRef<ModelDescription> descriptions, const CompileOptions &options,
                       std::vector<PlanRow> &rows) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Planning"};
  llvm::cl::OptionCategory modelCategory{"The model"};
  ModelFlags model;
  DeviceFlag device;
  MemoryLimitFlag memoryLimit;
  llvm::cl::opt<int64_t> most;
  llvm::cl::opt<bool> sweepTables, bestCheckpoint;
  TimelineFlags timeline;
  ForecastFlag forecastOnly;
  LinkFlags links;
  llvm::cl::opt<int> ranks;
  DistributionFlags distribute;
  OutputFlags output;
  PublishedFlag published;
  CompileFlags compile;
  /// The rates that predict times, as the flags select them. Set by `run`.
  DeviceModel predictOn;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PLANCOMMAND_H
