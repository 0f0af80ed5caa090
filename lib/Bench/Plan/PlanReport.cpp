//===- PlanReport.cpp - Planned models as rows ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/PlanReport.h"

#include "cs336/Bench/Command/CellNames.h"
#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/Plan/BufferTables.h"
#include "cs336/Bench/Plan/CheckpointNote.h"
#include "cs336/Bench/Plan/Communication.h"
#include "cs336/Bench/Plan/FitNote.h"
#include "cs336/Bench/Plan/MemoryTables.h"
#include "cs336/Bench/Plan/SweepTables.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <iterator>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

/// Returns the count in units of 10^9.
static Cell makeGiga(double count) { return Cell::number(count / 1e9, 3); }

static double getIntensity(const exec::Work &work) { return work.bytes > 0 ? work.flops / work.bytes : 0; }

std::string cs336::bench::describePlan(const PlanRow &row) {
  const TransformerConfig &config = row.description.transformer;
  std::string text = llvm::formatv("{0}, batch {1}, context {2}, {3}, {4}, {5}", describeSize(config), config.batchSize,
                                   config.contextLength, stringifyComputeType(row.computeType),
                                   describeFusion(row.fusion, row.pipeline), stringifyMode(row.description.mode));
  if (row.ranks > 1)
    text += llvm::formatv(", one of {0} ranks, {1}{2}", row.ranks, stringifyDistribution(row.exchange->mode),
                          row.exchange->describeBucket());
  return text;
}

static double divideByLayers(int64_t count, int64_t layers) {
  return layers == 0 ? 0 : static_cast<double>(count) / static_cast<double>(layers);
}

Table cs336::bench::makePhaseTable(const ModelPlan &plan) {
  using Row = PhaseSummary;
  int64_t layers = plan.layers, resident = plan.getResidentBytes();
  auto getCount = [](int64_t exec::Work::*member) {
    return [member](const Row &row) { return Cell::integer(row.work.*member); };
  };
  std::vector<Column<Row>> columns{
      {"phase", "phase", [](const Row &row) { return Cell(exec::stringifyCommandPhase(row.phase)); }, Show::Setting},
      {"commands", "commands", [](const Row &row) { return Cell::integer(row.work.getCommands()); }},
      {"kernels", "kernels", getCount(&exec::Work::launches)},
      {"GEMMs", "gemms", getCount(&exec::Work::gemms)},
      {"copies", "copies", getCount(&exec::Work::others)},
      {"per layer", "commands_per_layer",
       [layers](const Row &row) { return Cell::number(divideByLayers(row.inLayers.getCommands(), layers), 1); }},
      {"GFLOP", "gflop", [](const Row &row) { return makeGiga(row.work.flops); }},
      {"GB", "gigabytes", [](const Row &row) { return makeGiga(row.work.bytes); }},
      {"FLOP/B", "flop_per_byte", [](const Row &row) { return Cell::number(getIntensity(row.work), 2); }},
      {"held (MiB)", "held_mib", [](const Row &row) { return Cell::mebibytes(row.heldBytes); }},
      {"live (MiB)", "live_mib", [](const Row &row) { return Cell::mebibytes(row.liveBytes); }},
      {"peak (MiB)", "peak_mib", [resident](const Row &row) { return Cell::mebibytes(resident + row.liveBytes); }},
      {"predicted (ms)", "predicted_ms", [](const Row &row) { return Cell::number(row.seconds * 1e3, 3); },
       Show::OnRequest}};
  return {"phases", "", columns, llvm::ArrayRef(plan.phases)};
}

Table cs336::bench::makeKernelTable(std::string title, const ModelPlan &plan, size_t most) {
  using Row = KernelSummary;
  int64_t layers = plan.layers;
  std::vector<Column<Row>> columns{
      {"kernel", "kernel", [](const Row &row) { return Cell(row.name); }, Show::Text},
      {"runs", "runs", [](const Row &row) { return Cell::integer(row.work.launches); }},
      {"per layer", "runs_per_layer",
       [layers](const Row &row) { return Cell::number(divideByLayers(row.runsInLayers, layers), 1); }},
      {"GFLOP", "gflop", [](const Row &row) { return makeGiga(row.work.flops); }},
      {"GB", "gigabytes", [](const Row &row) { return makeGiga(row.work.bytes); }},
      {"FLOP/B", "flop_per_byte", [](const Row &row) { return Cell::number(getIntensity(row.work), 2); }}};
  return {"kernels", std::move(title), columns, llvm::ArrayRef(plan.kernels).take_front(most)};
}

static json::Object makeWay(const WayToFit &way) {
  return json::Object{{"flags", way.flags},
                      {"total_mib", static_cast<double>(way.totalBytes) / 1048576.0},
                      {"predicted_us_per_token", way.secondsPerToken * 1e6},
                      {"ranks", way.ranks}};
}

static json::Array listWays(const PlanRow &row) {
  json::Array ways;
  for (const WayToFit &way : row.waysToFit.ways)
    ways.push_back(makeWay(way));
  return ways;
}

std::vector<Column<PlanRow>> cs336::bench::getPlanColumns(const PlanTables &tables, llvm::ArrayRef<PlanRow> rows) {
  size_t most = tables.most;
  using Row = PlanRow;
  std::vector<Column<Row>> columns = getModelSettings<Row>();
  auto add = [&](std::string title, std::string key, Column<Row>::Extract get, Show show = Show::OnRequest) {
    columns.push_back({std::move(title), std::move(key), std::move(get), show});
  };
  auto showIfAny = [&](llvm::function_ref<bool(const Row &)> isShown) {
    return llvm::any_of(rows, isShown) ? Show::Result : Show::OnRequest;
  };
  auto addMiB = [&](std::string title, std::string key, int64_t ModelPlan::*bytes, Show show = Show::Result) {
    add(std::move(title), std::move(key), [bytes](const Row &row) { return Cell::mebibytes(row.plan.*bytes); }, show);
  };
  add(
      "ranks", "ranks", [](const Row &row) { return row.ranks > 1 ? Cell::integer(row.ranks) : Cell::empty(); },
      Show::Setting);
  add(
      "least memory", "is_best_checkpoint",
      [](const Row &row) {
        return row.checkpoint ? Cell(row.isBestCheckpoint ? "yes" : "no", row.isBestCheckpoint) : Cell::empty();
      },
      Show::Result);
  llvm::append_range(columns, getExchangeSettings());
  add(
      "recomputed (%)", "recomputed_percent",
      [](const Row &row) {
        double percent = 100 * row.plan.recomputedShare;
        return percent > 0 ? Cell::number(percent, 1) : Cell::empty();
      },
      Show::Setting);
  columns.back().role = Role::Result; // Follows from the flags, and changes with the compiler.
  addMiB("params (MiB)", "parameters_mib", &ModelPlan::parameterBytes);
  addMiB("state (MiB)", "state_mib", &ModelPlan::stateBytes);
  addMiB("derived (MiB)", "derived_mib", &ModelPlan::derivedBytes,
         showIfAny([](const Row &row) { return Cell::mebibytes(row.plan.derivedBytes).text != "0.0"; }));
  addMiB("inputs (MiB)", "inputs_mib", &ModelPlan::inputBytes,
         showIfAny([](const Row &row) { return Cell::mebibytes(row.plan.inputBytes).text != "0.0"; }));
  addMiB("arena (MiB)", "arena_mib", &ModelPlan::arenaBytes);
  add(
      "total (MiB)", "total_mib", [](const Row &row) { return Cell::mebibytes(row.plan.getTotalBytes()); },
      Show::Result);
  addMiB("on the host (MiB)", "host_mib", &ModelPlan::hostBytes, Show::OnRequest);
  add(
      "limit (MiB)", "limit_mib",
      [](const Row &row) { return row.limitBytes > 0 ? Cell::mebibytes(row.limitBytes) : Cell::empty(); },
      Show::Setting);
  add(
      "fits", "fits",
      [](const Row &row) { return row.limitBytes > 0 ? Cell(row.fits() ? "yes" : "no", row.fits()) : Cell::empty(); },
      Show::Result);
  add(
      "commands", "commands", [](const Row &row) { return Cell::integer(row.plan.getWork().getCommands()); },
      Show::Result);
  add("per layer", "commands_per_layer",
      [](const Row &row) { return Cell::number(row.plan.getCommandsPerLayer(), 1); });
  add("distinct kernels", "distinct_kernels",
      [](const Row &row) { return Cell::integer(static_cast<int64_t>(row.plan.kernels.size())); });
  add("GFLOP", "gflop", [](const Row &row) { return makeGiga(row.plan.getWork().flops); }, Show::Result);
  add("GB", "gigabytes", [](const Row &row) { return makeGiga(row.plan.getWork().bytes); }, Show::Result);
  add("predicted on", "predicted_on", [](const Row &row) { return Cell(row.plan.timeline.device); });
  add(
      "predicted (ms)", "predicted_ms",
      [](const Row &row) { return Cell::number(row.plan.timeline.getSeconds() * 1e3, 3); },
      showIfAny([](const Row &row) { return row.ranks > 1; }));
  add("layers", "layers", [](const Row &row) { return Cell::integer(row.plan.layers); });
  auto addOfRanks = [&](std::string title, std::string key, double (*get)(const CommunicationSummary &), Show show) {
    auto extract = [get](const Row &row) {
      return row.ranks > 1 ? Cell::number(get(row.plan.communication), 3) : Cell::empty();
    };
    add(std::move(title), std::move(key), extract, show);
  };
  using Communication = CommunicationSummary;
  addOfRanks(
      "sent (GB)", "sent_gigabytes", [](const Communication &sum) { return static_cast<double>(sum.wireBytes) / 1e9; },
      Show::OnRequest);
  addOfRanks(
      "communication (ms)", "communication_ms", [](const Communication &sum) { return sum.seconds * 1e3; },
      Show::Result);
  addOfRanks(
      "exposed (ms)", "exposed_ms", [](const Communication &sum) { return sum.exposedSeconds * 1e3; }, Show::Result);
  llvm::append_range(columns, getBlockColumns());
  auto addData = [&](std::string title, std::string key, Column<Row>::Extract get) {
    add(std::move(title), std::move(key), std::move(get), Show::Data);
  };
  addData("phases", "phases", [](const Row &row) { return Cell::data(makePhaseTable(row.plan).getObjects()); });
  addData("largest", "largest_buffers", [most](const Row &row) {
    return Cell::data(makeBufferTable("", listBuffers(row.plan.timeline.allocations), most).getObjects());
  });
  addData("at the peak", "peak_buffers", [tables](const Row &row) { return Cell::data(listPeakBuffers(row, tables)); });
  addData("peaks", "peaks", [](const Row &row) { return Cell::data(makePeakTable(row.plan).getObjects()); });
  addData("kept", "kept_by_layer",
          [most](const Row &row) { return Cell::data(makeKeptTable(row.plan, most).getObjects()); });
  addData("collectives", "collectives",
          [](const Row &row) { return Cell::data(makeCollectiveTable(row.plan).getObjects()); });
  addData("kernels", "kernels",
          [most](const Row &row) { return Cell::data(makeKernelTable("", row.plan, most).getObjects()); });
  // Without a plan, only the settings and the total, which has the reason, are known.
  for (Column<Row> &column : columns)
    if (column.role != Role::Setting)
      column.extract = [extract = std::move(column.extract), isTotal = column.key == "total_mib"](const Row &row) {
        if (row.status.ok())
          return extract(row);
        return isTotal ? Cell::note(getFailureText(row.status)) : Cell::empty();
      };
  addData("ways to fit", "ways_to_fit", [](const Row &row) { return Cell::data(listWays(row)); });
  auto addWay = [&](std::string title, std::string key, std::optional<WayToFit> WaysToFit::*way) {
    addData(std::move(title), std::move(key), [way](const Row &row) {
      const std::optional<WayToFit> &found = row.waysToFit.*way;
      return found ? Cell::data(makeWay(*found)) : Cell::empty();
    });
  };
  addWay("least recomputation", "least_recomputation", &WaysToFit::leastRecomputation);
  addWay("least sharding", "least_sharding", &WaysToFit::leastSharding);
  addWay("least planned", "least_planned", &WaysToFit::least);
  add("status", "status",
      [](const Row &row) { return Cell(row.status.ok() ? std::string("ok") : std::string(row.status.message())); });
  return columns;
}

/// Adds the tables and notes of rows that have a plan. `isSingle` adds the tables of a report of one model.
static void appendPlans(Report &report, llvm::ArrayRef<PlanRow> rows, const PlanTables &tables, bool isSingle) {
  auto [most, detailBytes, hasSweepTables] = tables;
  if (hasSweepTables) {
    report.tables.push_back(makePhasePeakTable(rows));
    if (!isSingle)
      report.tables.push_back(makePeakBufferTable(rows, tables));
    report.tables.push_back(makeBlockTable(rows));
    report.tables.push_back(makeBlockBufferTable(rows, most));
  }
  if (isSingle) {
    const ModelPlan &plan = rows.front().plan;
    report.tables.push_back(makePhaseTable(plan));
    report.tables.push_back(makePeakTable(plan));
    report.tables.push_back(makePeakBufferTable(rows, tables));
    if (!plan.layerMemory.kept.empty())
      report.tables.push_back(makeKeptTable(plan, most));
    if (plan.communication.collectives > 0)
      report.tables.push_back(makeCollectiveTable(plan));
    std::string buffers =
        llvm::formatv("largest buffers of {0}, equal ones of all layers together", plan.timeline.allocations.size());
    if (detailBytes > 1)
      buffers += llvm::formatv(", of at least {0}", formatBytes(detailBytes));
    llvm::ArrayRef<Allocation> large =
        llvm::ArrayRef(plan.timeline.allocations).take_while([&, least = detailBytes](const Allocation &each) {
          return each.bytes >= least;
        });
    report.tables.push_back(makeBufferTable(std::move(buffers), groupBuffers(large), most));
    std::string kernels = llvm::formatv("kernels that move the most bytes, of {0}", plan.kernels.size());
    report.tables.push_back(makeKernelTable(std::move(kernels), plan, most));
  }
  for (const PlanRow &row : rows)
    if (std::string note = row.checkpoint == 0 ? describeCheckpointing(row) : ""; !note.empty())
      report.notes.push_back(describePlan(row) + ": " + note);
  for (const PlanRow &row : rows)
    if (row.ranks > 1)
      report.notes.push_back(describePlan(row) + ": " + describeCommunication(row));
  for (const PlanRow &row : rows)
    if (row.limitBytes > 0)
      report.notes.push_back(describeFit(row));
}

Report cs336::bench::makePlanReport(llvm::ArrayRef<PlanRow> rows, json::Object context, const PlanTables &tables) {
  Report report{std::move(context), {{"plan", "", getPlanColumns(tables, rows), rows}}, {}};
  auto isPlanned = [](const PlanRow &row) { return row.status.ok(); };
  if (llvm::all_of(rows, isPlanned)) {
    appendPlans(report, rows, tables, rows.size() == 1);
    return report;
  }
  std::vector<PlanRow> planned;
  llvm::copy_if(rows, std::back_inserter(planned), isPlanned);
  appendPlans(report, planned, tables, /*isSingle=*/false);
  for (const PlanRow &row : rows)
    if (!row.status.ok())
      report.notes.push_back(describeUnmetBudget(row));
  return report;
}
