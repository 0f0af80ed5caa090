//===- PlanReport.h - Planned models as rows --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_PLANREPORT_H
#define CS336_BENCH_PLAN_PLANREPORT_H

#include "cs336/Bench/Command/Distribution.h"
#include "cs336/Bench/Plan/WaysToFit.h"
#include "cs336/Bench/Report/Report.h"
#include "cs336/Driver/Flags/CompileFlags.h"

#include "absl/status/status.h"

namespace cs336::bench {

/// One model, in one type, at one level of fusion.
struct PlanRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  ModelPlan plan;
  /// 0 for none.
  int64_t limitBytes = 0;
  /// The alternatives, if the plan exceeds the limit, or no recomputation meets the memory budget.
  WaysToFit waysToFit;
  PipelineVariant pipeline;
  /// The number of ranks, and their exchange. Absent without flags or options of an exchange. The plan describes one
  /// rank.
  int64_t ranks = 1;
  std::optional<ExchangeVariant> exchange = std::nullopt;
  /// With --best-checkpoint: the number of layers whose activations are recomputed together (0 for no recomputation),
  /// and whether this number takes the least memory.
  std::optional<int64_t> checkpoint = std::nullopt;
  bool isBestCheckpoint = false;
  /// RESOURCE_EXHAUSTED if no recomputation meets the memory budget. The row then has no plan.
  absl::Status status = absl::OkStatus();

  /// Returns whether there is a plan that does not exceed the limit.
  bool fits() const { return status.ok() && (limitBytes == 0 || plan.getTotalBytes() <= limitBytes); }
};

/// Return the tables of one model. In the table of phases, "held" is the memory of earlier phases that is still live
/// when a phase begins, "live" is the largest live memory of the arena during the phase, and "peak" is the same with
/// the resident memory. The table of kernels has at most `most` of them.
Table makePhaseTable(const ModelPlan &plan);
Table makeKernelTable(std::string title, const ModelPlan &plan, size_t most);

/// The tables of a report after the first one.
struct PlanTables {
  /// The maximum number of buffers or kernels in a table.
  size_t most;
  /// The minimum size of buffers in the tables of largest buffers and of those at the peak, in bytes.
  int64_t detailBytes = 1;
  /// If true, tables of memory compare all models: see SweepTables.h.
  bool hasSweepTables = false;
};

/// Returns the columns of planned models: memory, and sums over all phases. In JSON each row also contains the other
/// tables, with at most `tables.most` buffers and kernels. There, each buffer is a row.
/// `rows` determines which columns are shown by default: derived variables and inputs if a row has some, so that the
/// parts add up to the total, and the predicted time of a step if a row is one of several ranks.
std::vector<Column<PlanRow>> getPlanColumns(const PlanTables &tables, llvm::ArrayRef<PlanRow> rows = {});

/// Returns the table "plan" with a row for every model, and for a single model also "phases", "buffers" and "kernels".
/// Notes state whether the models fit.
Report makePlanReport(llvm::ArrayRef<PlanRow> rows, llvm::json::Object context, const PlanTables &tables);

/// "xl, batch 4, context 512, fp32, unfused, train"; with several ranks also ", one of 4 ranks, zero1 of 25 MiB".
std::string describePlan(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PLANREPORT_H
