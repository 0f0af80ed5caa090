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
#include "cs336/Driver/CompileFlags.h"

namespace cs336::bench {

/// One case at one level of fusion.
struct AttentionRow {
  AttentionCase attention;
  Fusion fusion;
  int64_t warmup, steps;
  AttentionMeasurement measurement;
  PipelineVariant pipeline;
};

/// "8 x 1024 x 64, causal, bf16, fusion flash"; with several heads "8 x 16 x 1024 x 64".
std::string describeAttention(const AttentionCase &attention, Fusion fusion, const PipelineVariant &pipeline);

/// A row for every measurement. Times are the host's; backward is what a step with gradients takes longer than one that
/// computes the loss alone. With a peer, each of its variants has the ratios of its medians to ours, which are left
/// out where the values disagree. Where a case was measured without fusion too, others have their speed-up over it.
Report makeAttentionReport(llvm::ArrayRef<AttentionRow> rows, llvm::json::Object context);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONREPORT_H
