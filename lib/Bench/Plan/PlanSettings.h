//===- PlanSettings.h - Settings of a plan in other tables ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_PLAN_PLANSETTINGS_H
#define CS336_LIB_BENCH_PLAN_PLANSETTINGS_H

#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/Plan/SweepTables.h"
#include "llvm/ADT/STLExtras.h"

namespace cs336::bench {

/// Returns the settings of a plan as columns of rows that belong to the plan. A row has a pointer `plan` to its
/// PlanRow.
template <typename Row>
std::vector<Column<Row>> getPlanSettings() {
  std::vector<Column<Row>> columns;
  std::vector<Column<PlanRow>> settings = getModelSettings<PlanRow>();
  llvm::append_range(settings, getExchangeSettings());
  for (const Column<PlanRow> &setting : settings)
    columns.push_back({setting.title, setting.key,
                       [extract = setting.extract](const Row &row) { return extract(*row.plan); }, setting.show,
                       setting.role});
  return columns;
}

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_PLAN_PLANSETTINGS_H
