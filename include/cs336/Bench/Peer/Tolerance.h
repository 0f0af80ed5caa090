//===- Tolerance.h - When values agree with a peer's ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PEER_TOLERANCE_H
#define CS336_BENCH_PEER_TOLERANCE_H

#include "cs336/Pipelines/Pipelines.h"

namespace cs336::bench {

/// Returns the largest relative difference that the rounding of the type explains.
double getTolerance(ComputeType type);

} // namespace cs336::bench

#endif // CS336_BENCH_PEER_TOLERANCE_H
