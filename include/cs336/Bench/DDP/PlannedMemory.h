//===- PlannedMemory.h - Memory of a rank by kind and moment ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_DDP_PLANNEDMEMORY_H
#define CS336_BENCH_DDP_PLANNEDMEMORY_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"

#include <string>
#include <vector>

namespace cs336::bench {

/// The planned memory that is in use at one moment of a training step: variables, inputs, and the live allocations of
/// the arena.
struct MemoryMoment {
  std::string name;
  KindBytes bytes;
};

/// Returns the moments "initialised" (before the first step), "peak" (the most), "before optimizer" (at the start of
/// the first command of that phase) and "after optimizer" (at the end of its last one). The last two are absent if
/// the entry has no optimizer.
std::vector<MemoryMoment> getMemoryMoments(const MemoryTimeline &timeline);

} // namespace cs336::bench

#endif // CS336_BENCH_DDP_PLANNEDMEMORY_H
