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
  /// Set if the profile's rates are compared with the ceilings.
  std::optional<Ceilings> ceilings = std::nullopt;
};

/// Returns FLOP/s in the mean time of a step. Requires a measured row.
double getFlopsPerSecond(const ModelRow &row);

/// Returns a warning if the device reports less memory than planned, or more than the plan and the known unplanned
/// memory: the code of kernels, captured graphs and the granularity of allocations. Otherwise returns nullopt.
std::optional<std::string> describeMemoryMismatch(const Measurement &measurement);

/// "small, batch 4, context 256, bf16, fusion all, train".
std::string describeModel(const ModelRow &row);

/// Returns the columns of `rows`, which are all measurements. Speed-ups and the time of the backward pass compare a row
/// with other rows. Each of the peer's `variants` has its median, the ratio to ours, and the difference of values; if
/// the values disagree, "mismatch" replaces the ratio. With `perStep`, tables also contain the time of every step.
std::vector<Column<ModelRow>> getModelColumns(llvm::ArrayRef<ModelRow> rows, llvm::ArrayRef<std::string> variants,
                                              bool perStep);

/// Returns a table with a row for every measurement, the table of memory if requested, the tables that compare all
/// profiles, and then the tables of each profile: "profile", or "profile-N" for row N.
Report makeModelReport(llvm::ArrayRef<ModelRow> rows, llvm::json::Object context, bool perStep,
                       const ProfileLayout &layout = {}, bool hasMemoryTable = false);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELREPORT_H
