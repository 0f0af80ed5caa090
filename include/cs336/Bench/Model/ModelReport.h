//===- ModelReport.h - Measured models as rows ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELREPORT_H
#define CS336_BENCH_MODEL_MODELREPORT_H

#include "cs336/Bench/Model/ModelBenchmark.h"
#include "cs336/Bench/Profile/ProfileReport.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/Flags/CompileFlags.h"

#include <optional>
#include <string>

namespace cs336::bench {

/// One model, in one type, at one level of fusion, after one number of warm-up steps.
struct ModelRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  /// FLOP/s of a large dense GEMM in this type, if the device supports the type.
  std::optional<double> peakRate;
  Measurement measurement;
  PipelineVariant pipeline;
  /// If the profile's rates are compared with them.
  std::optional<Ceilings> ceilings = std::nullopt;
};

/// Returns a warning if the device's own count is below the plan, or above it by more than unplanned memory explains:
/// the code of kernels, captured graphs and the granularity of allocations. Otherwise returns nothing.
std::optional<std::string> describeMemoryMismatch(const Measurement &measurement);

/// "small, batch 4, context 256, bf16, fusion all, train".
std::string describeModel(const ModelRow &row);

/// The columns of measured models, of which `rows` are all. Speed-ups and the time of the backward pass compare a row
/// with others. Each of the peer's `variants` has its median, the ratio to ours, and how far values are apart: where
/// they disagree, "mismatch" stands instead of the ratio. `perStep` shows every step's time in tables too.
std::vector<Column<ModelRow>> getModelColumns(llvm::ArrayRef<ModelRow> rows, llvm::ArrayRef<std::string> variants,
                                              bool perStep);

/// A table with a row for every measurement, that of memory if asked for, the tables of all profiles side by side, then
/// the tables of each profile: "profile", or "profile-N" for row N.
Report makeModelReport(llvm::ArrayRef<ModelRow> rows, llvm::json::Object context, bool perStep,
                       const ProfileLayout &layout = {}, bool hasMemoryTable = false);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELREPORT_H
