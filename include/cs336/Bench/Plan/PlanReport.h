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
#include "cs336/Driver/Flags/CompileFlags.h"

namespace cs336::bench {

/// One model, in one type, at one level of fusion.
struct PlanRow {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  ModelPlan plan;
  /// 0 for none.
  int64_t limitBytes = 0;
  /// The alternatives, if the plan exceeds the limit.
  WaysToFit waysToFit;
  PipelineVariant pipeline;
  /// The number of ranks, one of which the plan describes, and how they exchange gradients: empty for one rank.
  int64_t ranks = 1;
  std::string distribute;
  /// With --best-checkpoint: the layers whose activations are recomputed together, 0 for none, and whether no other
  /// number of layers takes less memory.
  std::optional<int64_t> checkpoint = std::nullopt;
  bool isBestCheckpoint = false;

  bool fits() const { return limitBytes == 0 || plan.getTotalBytes() <= limitBytes; }
};

/// Buffers of one size, type and life, whose sources differ in the layer alone.
struct BufferGroup {
  /// One of them; with several, its source is "layers.*.ffn.w13".
  Allocation buffer;
  int64_t count;
};

/// Equal buffers of all layers together, in the order of the first of each group.
std::vector<BufferGroup> groupBuffers(llvm::ArrayRef<Allocation> buffers);
/// A group for each buffer.
std::vector<BufferGroup> listBuffers(llvm::ArrayRef<Allocation> buffers);

/// The tables of one model. Phases: held is what earlier phases left when one begins, live the most at one time, peak
/// the same with all that is resident. At most `most` groups of buffers, and kernels, are shown.
Table makePhaseTable(const ModelPlan &plan);
Table makeBufferTable(std::string title, llvm::ArrayRef<BufferGroup> groups, size_t most);
Table makeKernelTable(std::string title, const ModelPlan &plan, size_t most);

/// The columns of planned models: memory, and sums over all phases. In JSON each row has the other tables too, with
/// `most` buffers and kernels, each buffer by itself.
std::vector<Column<PlanRow>> getPlanColumns(size_t most);

/// The tables of a report beside the first one.
struct PlanTables {
  /// The most buffers and kernels of a table.
  size_t most;
  /// The least bytes of buffers in the table of a single model's.
  int64_t detailBytes = 1;
  /// If true, tables of memory have all models side by side: see SweepTables.h.
  bool hasSweepTables = false;
};

/// "plan" with a row for every model; of a single model also "phases", "buffers" and "kernels". Notes say whether the
/// models fit.
Report makePlanReport(llvm::ArrayRef<PlanRow> rows, llvm::json::Object context, const PlanTables &tables);

/// "xl, batch 4, context 512, fp32, unfused, train"; with several ranks also ", one of 4 ranks, zero1".
std::string describePlan(const PlanRow &row);

/// Returns whether a row fits its limit, and the changes that would make it fit if it does not.
std::string describeFit(const PlanRow &row);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_PLANREPORT_H
