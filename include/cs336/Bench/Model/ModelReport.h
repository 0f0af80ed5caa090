//===- ModelReport.h - Measured models as rows ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELREPORT_H
#define CS336_BENCH_MODEL_MODELREPORT_H

#include "cs336/Bench/Model/ModelBenchmark.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/CompileFlags.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// One model, in one type, at one level of fusion, after one number of warm-up steps.
struct ModelRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  /// FLOP/s of a dense product in this type, as far as the device has one.
  std::optional<double> peakRate;
  Measurement measurement;
  PipelineVariant pipeline;
};

/// "small", or "d512 ff1344 L4 h16" for a model without a name.
std::string describeSize(const TransformerConfig &config);

/// A warning where the device's own count is below the plan, or above it by more than what no plan holds: the code of
/// kernels, captured graphs and the granularity of allocations. Nothing otherwise.
std::optional<std::string> describeMemoryMismatch(const Measurement &measurement);

/// "unfused", "fusion softmax"; of a rung of a ladder "with autocast".
std::string describeFusion(Fusion level, const PipelineVariant &pipeline);

/// What a table shows instead of times: "OOM" or "unsupported". Empty for failures that end a sweep.
llvm::StringRef getFailureText(const absl::Status &status);

/// A row for every measurement. With a peer, each of its variants has three columns: its median, the ratio to ours, and
/// how far the values are apart; where they disagree the difference stands instead of the ratio. Where forward and
/// forward with backward were both measured, the latter's row has their difference and its ratio to forward; where the
/// same step was measured in float32, or without fusion, others have their speed-ups over it. `perStep`
/// shows every step's time in tables too.
Report makeModelReport(llvm::ArrayRef<ModelRow> rows, llvm::json::Object context, bool perStep);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELREPORT_H
