//===- ScalingReport.h - Scaling of models as tables ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_SCALING_SCALINGREPORT_H
#define CS336_BENCH_SCALING_SCALINGREPORT_H

#include "cs336/Bench/Report/Report.h"
#include "cs336/Bench/Scaling/AllReduceAlgorithms.h"
#include "cs336/Bench/Scaling/ScalingLimits.h"
#include "cs336/Pipelines/Pipelines.h"

namespace cs336::bench {

/// A model in one type, and the number of sequences of its steps.
struct ScalingCase {
  ScalingModel model;
  ComputeType computeType;
  ScalingBatch batch;
};

/// One strategy on a number of ranks.
struct ScalingRow {
  const ScalingCase *scalingCase;
  Strategy strategy;
  RankGrid grid;
  /// See ScalingModel::getObstacle. The other members are valid if it is empty.
  llvm::StringRef impossible;
  double tokensPerDevice = 0;
  StepTime step = {};
  std::optional<int64_t> leastTokens = std::nullopt;
};

/// The largest number of ranks of one strategy.
struct LimitRow {
  const ScalingCase *scalingCase;
  Strategy strategy;
  RankLimit limit;
};

/// One algorithm of an all-reduce.
struct AllReduceAlgorithmRow {
  Interconnect links;
  AllReduceAlgorithm algorithm;
  int64_t ranks, bytes;
  AllReduceCost cost;
};

/// Returns the columns of "scaling" and of "all-reduce", the first tables of the two parts of the command.
std::vector<Column<ScalingRow>> getScalingColumns();
std::vector<Column<AllReduceAlgorithmRow>> getAlgorithmColumns();

/// Returns a row for the strategy on that many ranks.
ScalingRow scale(const ScalingCase &scalingCase, Strategy strategy, int64_t ranks);
/// Returns the rows of all algorithms that support the number of ranks.
std::vector<AllReduceAlgorithmRow> compareAlgorithms(const Interconnect &links, int64_t ranks, int64_t bytes);

/// Tables "scaling" and "limits".
Report makeScalingReport(llvm::ArrayRef<ScalingRow> rows, llvm::ArrayRef<LimitRow> limits, llvm::json::Object context);
/// Table "all-reduce".
Report makeAlgorithmReport(llvm::ArrayRef<AllReduceAlgorithmRow> rows, llvm::json::Object context);

} // namespace cs336::bench

#endif // CS336_BENCH_SCALING_SCALINGREPORT_H
