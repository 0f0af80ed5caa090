//===- PlanReport.h - Planned models as rows --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PLANREPORT_H
#define CS336_BENCH_PLAN_PLANREPORT_H

#include "cs336/Bench/Plan/ModelPlan.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/CompileFlags.h"

namespace cs336::bench {

/// One model, in one type, at one level of fusion.
struct PlanRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  ModelPlan plan;
  /// 0 for none.
  int64_t limitBytes = 0;
  /// Where the plan exceeds the limit.
  WaysToFit waysToFit;
  PipelineVariant pipeline;

  bool fits() const { return limitBytes == 0 || plan.getTotalBytes() <= limitBytes; }
};

/// A row for every model: memory, and sums over all phases. Programs also get what the reports below show, of every
/// row, with at most `most` buffers and kernels.
Report makePlanReport(llvm::ArrayRef<PlanRow> rows, llvm::json::Object context, int64_t most);

/// Of one model: a row for each phase (held: what earlier phases left when it begins; live: the most at one time; peak:
/// with all that is resident), for each of the largest buffers, and for each of the kernels that move most.
Report makePhaseReport(const ModelPlan &plan);
Report makeBufferReport(const ModelPlan &plan, int64_t most);
Report makeKernelReport(const ModelPlan &plan, int64_t most);

/// "xl, batch 4, context 512, fp32, unfused, train".
std::string describePlan(const PlanRow &row);

/// Whether a row fits its limit, and what would have to give where it does not.
std::string describeFit(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PLANREPORT_H
