//===- SweepTables.h - Memory of several plans, side by side ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_SWEEPTABLES_H
#define CS336_BENCH_PLAN_SWEEPTABLES_H

#include "cs336/Bench/Plan/PlanReport.h"

namespace cs336::bench {

/// Returns the columns of the memory of one block, which only JSON and CSV contain: the residual stream (batch ·
/// context · d_model numbers in the type of the model), the memory that the block in the middle keeps for the backward
/// pass, the gradients of its parameters, and the same gradients by the number of parameters in the type of the model.
std::vector<Column<PlanRow>> getBlockColumns();

/// Returns the columns of how ranks exchange gradients and parameters. They are empty for one rank.
std::vector<Column<PlanRow>> getExchangeSettings();

/// Returns "phase-peaks": a row per plan and phase with the memory of each kind that is live at the phase's peak.
Table makePhasePeakTable(llvm::ArrayRef<PlanRow> rows);

/// Returns "blocks": a row per plan with the columns of `getBlockColumns`.
Table makeBlockTable(llvm::ArrayRef<PlanRow> rows);

/// Returns "block-buffers": the memory that one block keeps for the backward pass, the largest buffers first, at most
/// `most` per plan.
Table makeBlockBufferTable(llvm::ArrayRef<PlanRow> rows, size_t most);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_SWEEPTABLES_H
