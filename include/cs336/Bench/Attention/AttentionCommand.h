//===- AttentionCommand.h - cs336-bench attention ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONCOMMAND_H
#define CS336_BENCH_ATTENTION_ATTENTIONCOMMAND_H

#include "cs336/Bench/Attention/AttentionReport.h"
#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Forecast/Forecast.h"
#include "cs336/Bench/Forecast/PeakRate.h"
#include "cs336/Bench/Peer/PeerFlags.h"
#include "cs336/Bench/Progress/Progress.h"
#include "cs336/Bench/Published/PublishedFlag.h"
#include "cs336/Driver/Flags/CompileFlags.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Driver/Flags/MemoryLimitFlag.h"
#include "cs336/Driver/Flags/NoGraphFlag.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// The subcommand `attention`, which measures attention alone.
class AttentionCommand : public Command {
public:
  AttentionCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  std::vector<ColumnHead> getColumns() const override;
  /// Measures every combination of the flags' values and prints the report to standard output. A lack of memory becomes
  /// the status of its row; the first other error ends the command. After an interruption, the report contains only the
  /// rows that were measured before.
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// Which keys a query sees.
  enum class Mask { Full, Causal };

  /// A flag that takes a list of positive numbers, and its spelling with underscores.
  struct SizesFlag {
    SizesFlag(llvm::StringRef name, llvm::StringRef alias, llvm::StringRef description, int64_t value,
              AttentionCommand &command);
    absl::Status check() const;
    std::vector<int64_t> get() const;

    ListFlag<int64_t> option;
    llvm::cl::alias underscored;
    int64_t preset;
  };

  absl::Status checkFlags() const;
  /// Return INVALID_ARGUMENT if the flag conflicts with another one.
  absl::Status checkScores() const;
  absl::Status checkTiles() const;
  absl::Status checkCompileOnly() const;
  /// Returns the score functions of the sweep: without --score, "plain" alone.
  std::vector<AttentionScore> getScores() const;
  /// Returns the tiles of the sweep: without --tiles, nullopt alone.
  std::vector<std::optional<cuda::ScoreTile>> getTiles() const;
  /// Returns the pipelines, one for each tile.
  std::vector<PipelineVariant> getTiledPipelines() const;
  /// Returns FLOP/s of a large GEMM. Returns nullopt if --no-mfu or --compile-only is given, or if the device lacks the
  /// type.
  absl::StatusOr<std::optional<double>> getPeak(ComputeType type, PeakRates &peaks, Progress &progress) const;
  /// Measures one case in one pipeline and tile, and appends its row.
  absl::Status measureOne(AttentionCase attention, const PipelineVariant &variant, std::optional<cuda::ScoreTile> tile,
                          const AttentionOptions &options, PeakRates &peaks, Progress &progress,
                          std::vector<AttentionRow> &rows) const;
  std::vector<AttentionCase> getCases() const;
  absl::Status measureAll(const AttentionOptions &options, const Forecast &forecast, PeakRates &peaks,
                          std::vector<AttentionRow> &rows) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Measuring"};
  llvm::cl::OptionCategory caseCategory{"The attention"};
  SizesFlag batchSizes, numHeads, lengths, headDims;
  ListFlag<Mask, EnumParser<Mask>> masks;
  ListFlag<std::string> scores;
  ListFlag<AttentionCase::Part, EnumParser<AttentionCase::Part>> parts;
  ListFlag<std::string> tiles;
  llvm::cl::opt<bool> compileOnly;
  llvm::cl::opt<int64_t> warmup;
  llvm::cl::alias warmupAlias;
  llvm::cl::opt<int64_t> steps;
  llvm::cl::alias stepsAlias;
  DeviceFlag device;
  llvm::cl::opt<int> numThreads;
  llvm::cl::opt<uint64_t> seed;
  MemoryLimitFlag memoryLimit;
  PeerFlags peer;
  NoGraphFlag noGraph;
  llvm::cl::opt<bool> noMFU;
  ForecastFlag forecastOnly;
  OutputFlags output;
  PublishedFlag published;
  CompileFlags compile;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONCOMMAND_H
