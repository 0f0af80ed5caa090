//===- MemoryTables.h - Tables of a plan's memory ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_MEMORYTABLES_H
#define CS336_BENCH_PLAN_MEMORYTABLES_H

#include "cs336/Bench/Plan/ModelPlan.h"
#include "cs336/Bench/Report/Table.h"

namespace cs336::bench {

/// Returns a row for each kind of memory and a column for each phase: the bytes that are live at the phase's peak, with
/// variables and inputs. The last row has the sums.
Table makePeakTable(const ModelPlan &plan);

/// Returns the memory that one layer keeps for the backward pass, by operation: at most `most` rows, the largest first,
/// each with its share of the layer's.
Table makeKeptTable(const ModelPlan &plan, size_t most);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_MEMORYTABLES_H
