//===- AttentionReport.h - Measured attention as rows -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONREPORT_H
#define CS336_BENCH_ATTENTION_ATTENTIONREPORT_H

#include "cs336/Bench/Attention/AttentionBenchmark.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/Flags/CompileFlags.h"

namespace cs336::bench {

/// One case at one level of fusion.
struct AttentionRow {
  AttentionCase attention;
  Fusion fusion;
  int64_t warmup, steps;
  AttentionMeasurement measurement;
  PipelineVariant pipeline;
  std::optional<cuda::ScoreTile> tile = std::nullopt;
  /// FLOP/s of a large GEMM in the row's type.
  std::optional<double> peakRate = std::nullopt;
};

/// Returns the FLOP/s of the pass that reaches more: the forward pass, or the backward pass if its time is clear. 0 if
/// neither was measured.
double getHighestRate(const AttentionRow &row);

/// "8 x 1024 x 64, causal, bf16, fusion flash"; with several heads "8 x 16 x 1024 x 64", with a score function
/// ", window:64", with a tile ", tile 64x32".
std::string describeAttention(const AttentionCase &attention, Fusion fusion, const PipelineVariant &pipeline,
                              std::optional<cuda::ScoreTile> tile = std::nullopt);

/// Returns the columns of `rows`, which are all measurements. Times are measured by the host's clock. The time of the
/// backward pass is the time of a step with gradients minus the time of a step that computes only the loss. Each of the
/// peer's `variants` has the ratios of its medians to ours, or "mismatch" if values disagree. If a case was measured
/// without fusion too, the other rows of the case have their speed-up over it.
std::vector<Column<AttentionRow>> getAttentionColumns(llvm::ArrayRef<AttentionRow> rows,
                                                      llvm::ArrayRef<std::string> variants);

/// One table with a row for every measurement.
Report makeAttentionReport(llvm::ArrayRef<AttentionRow> rows, llvm::json::Object context);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONREPORT_H
