//===- ModelProfileTables.h - Profiles of a sweep, side by side -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELPROFILETABLES_H
#define CS336_BENCH_MODEL_MODELPROFILETABLES_H

#include "cs336/Bench/Model/ModelReport.h"

namespace cs336::bench {

/// Returns the columns with the times of the parts of attention in the forward pass, per step. Only JSON and CSV
/// contain them.
std::vector<Column<ModelRow>> getAttentionPartColumns();

/// Returns a column with the phases of a profile, which only JSON contains: those of the table "phases", with the times
/// of a profile by phase.
Column<ModelRow> getProfilePhasesColumn();

/// Appends "phases", with a row per profile and phase, and "attention", with a row per profile that has parts of
/// attention. A table without rows is left out.
void appendProfileTables(Report &report, llvm::ArrayRef<ModelRow> rows);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELPROFILETABLES_H
