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

/// Returns the arithmetic of recomputation for a plan without recomputation: L layers that keep K bytes each, and the
/// residual stream of R bytes that a block of k layers keeps. One level takes L/k · R + k · K, the least at
/// k = sqrt(L · R / K). Nested blocks, halved each time, take log2(L) · R + K and run the forward pass log2(L) times
/// more. Returns an empty text if no layer keeps anything.
std::string describeCheckpointing(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_CHECKPOINTNOTE_H
