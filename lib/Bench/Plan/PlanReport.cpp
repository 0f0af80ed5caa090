//===- PlanReport.cpp - Planned models as rows ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PlanReport.h"

#include "cs336/Bench/Model/ModelReport.h"
#include "cs336/Bench/Report/ByteSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

static Cell makeMiB(int64_t bytes) { return Cell::number(static_cast<double>(bytes) / 1048576.0, 1); }

/// In units of 10^9.
static Cell makeGiga(double count) { return Cell::number(count / 1e9, 3); }

static double getIntensity(const exec::Work &work) { return work.bytes > 0 ? work.flops / work.bytes : 0; }

std::string cs336::bench::describePlan(const PlanRow &row) {
  const TransformerConfig &config = row.description.transformer;
  return llvm::formatv("{0}, batch {1}, context {2}, {3}, {4}, {5}", describeSize(config), config.batchSize,
                       config.contextLength, stringifyComputeType(row.computeType),
                       describeFusion(row.fusion, row.pipeline), stringifyMode(row.description.mode));
}

std::string cs336::bench::describeFit(const PlanRow &row) {
  int64_t total = row.plan.getTotalBytes();
  if (row.fits())
    return llvm::formatv("fits: {0}: {1} of {2}, {3} to spare", describePlan(row), formatBytes(total),
                         formatBytes(row.limitBytes), formatBytes(row.limitBytes - total));
  std::string text = llvm::formatv("does not fit: {0}: {1} of {2}, {3} too much", describePlan(row), formatBytes(total),
                                   formatBytes(row.limitBytes), formatBytes(total - row.limitBytes));
  const WaysToFit &ways = row.waysToFit;
  if (ways.ways.empty())
    text += llvm::formatv("; parameters and state alone are {0}, and neither a smaller batch, a shorter context, "
                          "recomputation, fusion nor bfloat16 suffices",
                          formatBytes(row.plan.parameterBytes + row.plan.stateBytes));
  else
    text += "; any of these would do:";
  for (const WayToFit &way : ways.ways)
    text += llvm::formatv("\n  {0}  {1}", way.flags, formatBytes(way.totalBytes));
  if (ways.leastRecomputation)
    text += llvm::formatv("\nno recomputation would: {0}, the best, needs {1}", ways.leastRecomputation->flags,
                          formatBytes(ways.leastRecomputation->totalBytes));
  return text;
}

Report cs336::bench::makePhaseReport(const ModelPlan &plan) {
  Report report({{"phase", "phase"},
                 {"commands", "commands"},
                 {"kernels", "kernels"},
                 {"products", "products"},
                 {"copies", "copies"},
                 {"a layer", "commands_per_layer"},
                 {"GFLOP", "gflop"},
                 {"GB", "gigabytes"},
                 {"FLOP/B", "flop_per_byte"},
                 {"held (MiB)", "held_mib"},
                 {"live (MiB)", "live_mib"},
                 {"peak (MiB)", "peak_mib"}},
                {});
  for (const exec::PhaseSummary &phase : plan.phases) {
    double perLayer =
        plan.layers == 0 ? 0 : static_cast<double>(phase.inLayers.getCommands()) / static_cast<double>(plan.layers);
    report.addRow({Cell(exec::stringifyCommandPhase(phase.phase).str()), Cell::integer(phase.work.getCommands()),
                   Cell::integer(phase.work.launches), Cell::integer(phase.work.products),
                   Cell::integer(phase.work.others), Cell::number(perLayer, 1), makeGiga(phase.work.flops),
                   makeGiga(phase.work.bytes), Cell::number(getIntensity(phase.work), 2), makeMiB(phase.heldBytes),
                   makeMiB(phase.liveBytes), makeMiB(plan.getResidentBytes() + phase.liveBytes)});
  }
  return report;
}

Report cs336::bench::makeBufferReport(const ModelPlan &plan, int64_t most) {
  Report report({{"MiB", "mib"},
                 {"buffer", "type"},
                 {"of", "source"},
                 {"from", "from_phase"},
                 {"to", "to_phase"},
                 {"bytes", "bytes", true}},
                {});
  for (const ModelPlan::Buffer &buffer : llvm::ArrayRef(plan.buffers).take_front(most))
    report.addRow({makeMiB(buffer.bytes), Cell(buffer.type), Cell(buffer.source),
                   Cell(exec::stringifyCommandPhase(buffer.first).str()),
                   Cell(exec::stringifyCommandPhase(buffer.last).str()), Cell::integer(buffer.bytes)});
  return report;
}

Report cs336::bench::makeKernelReport(const ModelPlan &plan, int64_t most) {
  Report report({{"kernel", "kernel"},
                 {"runs", "runs"},
                 {"a layer", "runs_per_layer"},
                 {"GFLOP", "gflop"},
                 {"GB", "gigabytes"},
                 {"FLOP/B", "flop_per_byte"}},
                {});
  for (const ModelPlan::Kernel &kernel : llvm::ArrayRef(plan.kernels).take_front(most)) {
    double perLayer =
        plan.layers == 0 ? 0 : static_cast<double>(kernel.runsInLayers) / static_cast<double>(plan.layers);
    report.addRow({Cell(kernel.name), Cell::integer(kernel.work.launches), Cell::number(perLayer, 1),
                   makeGiga(kernel.work.flops), makeGiga(kernel.work.bytes),
                   Cell::number(getIntensity(kernel.work), 2)});
  }
  return report;
}

static json::Object makeWay(const WayToFit &way) {
  return json::Object{{"flags", way.flags}, {"total_mib", static_cast<double>(way.totalBytes) / 1048576.0}};
}

static json::Array listWays(const PlanRow &row) {
  json::Array ways;
  for (const WayToFit &way : row.waysToFit.ways)
    ways.push_back(makeWay(way));
  return ways;
}

/// For programs alone.
static Cell makeDetail(json::Array values) { return {"", std::move(values)}; }

Report cs336::bench::makePlanReport(llvm::ArrayRef<PlanRow> rows, json::Object context, int64_t most) {
  Report report({{"size", "size"},
                 {"params (M)", "parameters_millions"},
                 {"batch", "batch_size"},
                 {"context", "context_length"},
                 {"built in", "build_dtype"},
                 {"dtype", "dtype"},
                 {"fusion", "fusion"},
                 {"ladder", "ladder", true},
                 {"added", "added"},
                 {"mode", "mode"},
                 {"parameters (MiB)", "parameters_mib"},
                 {"state (MiB)", "state_mib"},
                 {"derived (MiB)", "derived_mib"},
                 {"inputs (MiB)", "inputs_mib"},
                 {"arena (MiB)", "arena_mib"},
                 {"total (MiB)", "total_mib"},
                 {"on the host (MiB)", "host_mib"},
                 {"limit (MiB)", "limit_mib"},
                 {"fits", "fits"},
                 {"commands", "commands"},
                 {"a layer", "commands_per_layer"},
                 {"distinct kernels", "distinct_kernels"},
                 {"GFLOP", "gflop"},
                 {"GB", "gigabytes"},
                 {"layers", "layers", true},
                 {"phases", "phases", true},
                 {"largest", "largest_buffers", true},
                 {"kernels", "kernels", true},
                 {"ways to fit", "ways_to_fit", true},
                 {"least recomputation", "least_recomputation", true}},
                std::move(context));
  for (const PlanRow &row : rows) {
    const TransformerConfig &config = row.description.transformer;
    const ModelPlan &plan = row.plan;
    exec::Work work = plan.getWork();
    bool isLimited = row.limitBytes > 0;
    report.addRow(
        {Cell(describeSize(config)),
         Cell::number(static_cast<double>(config.getParameterCount()) / 1e6, 3),
         Cell::integer(config.batchSize),
         Cell::integer(config.contextLength),
         Cell(row.description.dtype == BuildType::F64 ? "f64" : "f32"),
         Cell(stringifyComputeType(row.computeType).str()),
         Cell(stringifyFusion(row.fusion).str()),
         Cell::optional(row.pipeline.ladder),
         Cell::optional(row.pipeline.added),
         Cell(stringifyMode(row.description.mode).str()),
         makeMiB(plan.parameterBytes),
         makeMiB(plan.stateBytes),
         makeMiB(plan.derivedBytes),
         makeMiB(plan.inputBytes),
         makeMiB(plan.arenaBytes),
         makeMiB(plan.getTotalBytes()),
         makeMiB(plan.hostBytes),
         isLimited ? makeMiB(row.limitBytes) : Cell::empty(),
         isLimited ? Cell(row.fits() ? "yes" : "no", row.fits()) : Cell::empty(),
         Cell::integer(work.getCommands()),
         Cell::number(plan.getCommandsPerLayer(), 1),
         Cell::integer(static_cast<int64_t>(plan.kernels.size())),
         makeGiga(work.flops),
         makeGiga(work.bytes),
         Cell::integer(plan.layers),
         makeDetail(makePhaseReport(plan).getRows()),
         makeDetail(makeBufferReport(plan, most).getRows()),
         makeDetail(makeKernelReport(plan, most).getRows()),
         makeDetail(listWays(row)),
         row.waysToFit.leastRecomputation ? Cell("", makeWay(*row.waysToFit.leastRecomputation)) : Cell::empty()});
  }
  return report;
}
