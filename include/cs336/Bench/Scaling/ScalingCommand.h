//===- ScalingCommand.h - cs336-bench scaling -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_SCALING_SCALINGCOMMAND_H
#define CS336_BENCH_SCALING_SCALINGCOMMAND_H

#include "cs336/Bench/Command/Command.h"
#include "cs336/Bench/Command/OutputFlags.h"
#include "cs336/Bench/Plan/LinkFlags.h"
#include "cs336/Bench/Plan/PredictOnFlag.h"
#include "cs336/Bench/Scaling/ScalingReport.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Driver/Flags/ModelFlags.h"

#include "absl/status/statusor.h"

namespace cs336::bench {

/// The subcommand `scaling`, which predicts the times of a training step on many ranks, without a device.
class ScalingCommand : public Command {
public:
  ScalingCommand();

  llvm::cl::SubCommand &getSubCommand() override { return subcommand; }
  void hideOtherOptions() override;
  /// The columns of both parts.
  std::vector<ColumnHead> getColumns() const override;
  absl::Status run(llvm::StringRef commandLine) override;

private:
  /// Steps by strategy, or algorithms of an all-reduce.
  enum class Part { Steps, AllReduce };

  absl::Status check();
  absl::Status checkPart();
  absl::StatusOr<std::vector<ScalingCase>> getCases(const DeviceModel &device) const;
  std::vector<int64_t> getRanks() const;
  absl::Status runSteps(const DeviceModel &device, llvm::json::Object context) const;
  absl::Status runAlgorithms(const DeviceModel &device, llvm::json::Object context) const;

  llvm::cl::SubCommand subcommand;
  llvm::cl::OptionCategory category{"Scaling"};
  llvm::cl::OptionCategory modelCategory{"The model"};
  ModelFlags model;
  llvm::cl::opt<Part, /*ExternalStorage=*/false, EnumParser<Part>> part;
  ListFlag<Strategy, EnumParser<Strategy>> strategies;
  ListFlag<int64_t> ranks;
  ListFlag<ComputeType> dtypes;
  llvm::cl::opt<int64_t> globalBatch;
  RealFlag tflops;
  ListFlag<std::string> buffers;
  PredictOnFlag predictOn;
  LinkFlags links;
  OutputFlags output;
};

} // namespace cs336::bench

#endif // CS336_BENCH_SCALING_SCALINGCOMMAND_H
