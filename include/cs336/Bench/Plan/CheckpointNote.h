//===- CheckpointNote.h - Recomputation by arithmetic -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_CHECKPOINTNOTE_H
#define CS336_BENCH_PLAN_CHECKPOINTNOTE_H

#include "cs336/Bench/Plan/PlanReport.h"

namespace cs336::bench {

/// Returns the estimated memory of recomputation as text, from a plan without recomputation: each of L layers keeps K
/// bytes, and a block of k layers that is recomputed keeps the residual stream of R bytes. One level of blocks takes
/// L/k · R + k · K bytes, with the minimum at k = sqrt(L · R / K). Nested blocks, which are halved at each level, take
/// log2(L) · R + K bytes and run the forward pass log2(L) more times. Returns an empty text if no layer keeps anything.
std::string describeCheckpointing(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_CHECKPOINTNOTE_H
