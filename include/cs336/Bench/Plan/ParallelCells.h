//===- ParallelCells.h - The cells of a sweep on several threads -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PARALLELCELLS_H
#define CS336_BENCH_PLAN_PARALLELCELLS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include "absl/status/status.h"

#include <cstddef>

namespace cs336::bench {

/// Calls `work` for each index below `count`, on at most `threads` threads at the same time. Each call must use an
/// MLIRContext of its own. Before each of these calls, calls `begin` with the index: one call after the other, in
/// increasing order. Returns the error of the lowest index that fails. All lower indices are complete then, and no call
/// begins after an error.
absl::Status forEachCell(size_t count, size_t threads, llvm::function_ref<void(size_t)> begin,
                         llvm::function_ref<absl::Status(size_t)> work);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PARALLELCELLS_H
