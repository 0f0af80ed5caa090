//===- FitNote.h - Whether a plan fits, in words ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_FITNOTE_H
#define CS336_BENCH_PLAN_FITNOTE_H

#include "cs336/Bench/Plan/PlanReport.h"

namespace cs336::bench {

/// Returns whether a row fits its limit. If it does not, returns also the changes that would make it fit, and the least
/// planned memory if it would not fit on one device.
std::string describeFit(const PlanRow &row);

/// Returns why a row has no plan, and the same changes.
std::string describeUnmetBudget(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_FITNOTE_H
