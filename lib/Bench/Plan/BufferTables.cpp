//===- BufferTables.cpp - Tables of a plan's buffers ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/BufferTables.h"

#include "PlanSettings.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Support/LayerPath.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <tuple>

using namespace cs336;
using namespace cs336::bench;

std::vector<BufferGroup> cs336::bench::groupBuffers(llvm::ArrayRef<Allocation> buffers) {
  std::vector<BufferGroup> groups;
  std::map<std::tuple<MemoryKind, int64_t, std::string, std::string, exec::CommandPhase, exec::CommandPhase>, size_t>
      known;
  for (const Allocation &buffer : buffers) {
    std::string source = mergeLayers(buffer.source);
    auto [found, isNew] = known.try_emplace(
        {buffer.kind, buffer.bytes, buffer.type, source, buffer.firstPhase, buffer.lastPhase}, groups.size());
    if (isNew) {
      groups.push_back({buffer, 1});
      continue;
    }
    BufferGroup &group = groups[found->second];
    ++group.count;
    group.buffer.source = source;
    group.buffer.location = mergeLayers(group.buffer.location);
  }
  return groups;
}

std::vector<BufferGroup> cs336::bench::listBuffers(llvm::ArrayRef<Allocation> buffers) {
  std::vector<BufferGroup> groups;
  for (const Allocation &buffer : buffers)
    groups.push_back({buffer, 1});
  return groups;
}

/// Returns "layers.*.ffn.w13 × 12", or only the source of a single buffer.
static Cell makeSource(const BufferGroup &group) {
  std::string times = group.count > 1 ? " × " + std::to_string(group.count) : "";
  return Cell(group.buffer.source + times, group.buffer.source);
}

Table cs336::bench::makeBufferTable(std::string title, llvm::ArrayRef<BufferGroup> groups, size_t most) {
  using Row = BufferGroup;
  std::vector<Column<Row>> columns{
      {"MiB", "mib", [](const Row &row) { return Cell::mebibytes(row.buffer.bytes); }},
      {"buffer", "type", [](const Row &row) { return Cell(row.buffer.type); }},
      {"of", "source", makeSource, Show::Text},
      {"together (MiB)", "together_mib", [](const Row &row) { return Cell::mebibytes(row.count * row.buffer.bytes); }},
      {"from", "from_phase", [](const Row &row) { return Cell(exec::stringifyCommandPhase(row.buffer.firstPhase)); }},
      {"to", "to_phase", [](const Row &row) { return Cell(exec::stringifyCommandPhase(row.buffer.lastPhase)); }},
      {"count", "count", [](const Row &row) { return Cell::integer(row.count); }, Show::OnRequest},
      {"bytes", "bytes", [](const Row &row) { return Cell::integer(row.buffer.bytes); }, Show::OnRequest},
      {"location", "location", [](const Row &row) { return Cell(row.buffer.location); }, Show::OnRequest}};
  return {"buffers", std::move(title), columns, groups.take_front(most)};
}

//===----------------------------------------------------------------------===//
// Buffers at the peak
//===----------------------------------------------------------------------===//

namespace {
/// Memory at the peak of a plan: equal buffers, the sum of the buffers that have no row, or the sum of all.
struct PeakRow {
  const PlanRow *plan;
  std::string kind;
  /// The buffers. Only their number is set for sums.
  BufferGroup group;
  int64_t bytes;
  bool isSum = false;
};
} // namespace

/// Returns the rows of one plan. The buffers of `groups` are those at its peak.
static std::vector<PeakRow> makePeakRows(const PlanRow &plan, std::vector<BufferGroup> groups,
                                         const PlanTables &tables) {
  auto getBytes = [](const BufferGroup &group) { return group.count * group.buffer.bytes; };
  llvm::stable_sort(groups, [&](const auto &a, const auto &b) { return getBytes(a) > getBytes(b); });
  std::vector<PeakRow> rows;
  PeakRow others{&plan, "other", {}, 0, /*isSum=*/true}, all{&plan, "all", {}, 0, /*isSum=*/true};
  for (const BufferGroup &group : groups) {
    all.group.count += group.count;
    all.bytes += getBytes(group);
    if (rows.size() < tables.most && group.buffer.bytes >= tables.detailBytes) {
      rows.push_back({&plan, stringifyMemoryKind(group.buffer.kind).str(), group, getBytes(group)});
      continue;
    }
    others.group.count += group.count;
    others.bytes += getBytes(group);
  }
  if (others.group.count > 0)
    rows.push_back(std::move(others));
  rows.push_back(std::move(all));
  return rows;
}

/// Returns the location. Its text is empty if the location repeats the source, as that of a built model often does.
static Cell makeLocation(const BufferGroup &group) {
  const Allocation &buffer = group.buffer;
  return {buffer.location == "\"" + buffer.source + "\"" ? "" : buffer.location, buffer.location};
}

/// Returns the columns without the settings of plans. `showLocation` is that of the location, which may be long.
static std::vector<Column<PeakRow>> getPeakColumns(Show showLocation) {
  using Row = PeakRow;
  // Sums have no properties of a buffer.
  auto ofBuffer = [](Cell (*get)(const BufferGroup &)) {
    return [get](const Row &row) { return row.isSum ? Cell::empty() : get(row.group); };
  };
  auto ofArena = [](exec::CommandPhase Allocation::*phase) {
    return [phase](const Row &row) {
      const Allocation &buffer = row.group.buffer;
      bool hasPhase = !row.isSum && !livesAsLongAsSession(buffer.kind);
      return hasPhase ? Cell(exec::stringifyCommandPhase(buffer.*phase)) : Cell::empty();
    };
  };
  return {
      {"kind", "kind", [](const Row &row) { return Cell(row.kind); }},
      {"MiB", "mib", ofBuffer([](const BufferGroup &group) { return Cell::mebibytes(group.buffer.bytes); })},
      {"buffer", "type", ofBuffer([](const BufferGroup &group) { return Cell(group.buffer.type); })},
      {"of", "source",
       [](const Row &row) {
         return row.isSum ? Cell::note(llvm::formatv("{0} buffers", row.group.count).str()) : makeSource(row.group);
       },
       Show::Text},
      {"together (MiB)", "together_mib", [](const Row &row) { return Cell::mebibytes(row.bytes); }},
      {"from", "from_phase", ofArena(&Allocation::firstPhase)},
      {"to", "to_phase", ofArena(&Allocation::lastPhase)},
      {"location", "location", ofBuffer(makeLocation), showLocation},
      {"layer", "layer",
       ofBuffer([](const BufferGroup &group) { return Cell::optional(getLayer(group.buffer.source)); }),
       Show::OnRequest},
      {"count", "count", [](const Row &row) { return Cell::integer(row.group.count); }, Show::OnRequest},
      {"bytes", "bytes", ofBuffer([](const BufferGroup &group) { return Cell::integer(group.buffer.bytes); }),
       Show::OnRequest},
      {"together (bytes)", "together_bytes", [](const Row &row) { return Cell::integer(row.bytes); }, Show::OnRequest}};
}

/// Returns the rows of a plan, in which equal buffers of all layers are one.
static std::vector<PeakRow> groupPeakRows(const PlanRow &row, const PlanTables &tables) {
  const PhaseSummary *phase = findPeakPhase(row.plan.phases);
  if (!phase)
    return {};
  return makePeakRows(row, groupBuffers(listLive(row.plan.timeline, phase->peak)), tables);
}

llvm::json::Array cs336::bench::listPeakBuffers(const PlanRow &row, const PlanTables &tables) {
  const PhaseSummary *phase = findPeakPhase(row.plan.phases);
  if (!phase)
    return {};
  std::vector<PeakRow> rows = makePeakRows(row, listBuffers(listLive(row.plan.timeline, phase->peak)), tables);
  return Table("", "", getPeakColumns(Show::Text), llvm::ArrayRef(rows)).getObjects();
}

/// Returns "live at the peak of the step, in backward during gemm_w2 of layers.0.ffn.w2: 2.1 GiB of 2.2 GiB".
static std::string describePeak(const ModelPlan &plan) {
  std::string text = "live at the peak of the step";
  const PhaseSummary *phase = findPeakPhase(plan.phases);
  if (!phase)
    return text;
  const TimedCommand &command = plan.timeline.commands[phase->peak];
  text += llvm::formatv(", in {0} during {1}", exec::stringifyCommandPhase(phase->phase), command.name);
  if (!command.source.empty())
    text += " of " + command.source;
  return text + llvm::formatv(": {0} of the total of {1}", formatBytes(plan.getResidentBytes() + phase->liveBytes),
                              formatBytes(plan.getTotalBytes()))
                    .str();
}

Table cs336::bench::makePeakBufferTable(llvm::ArrayRef<PlanRow> plans, const PlanTables &tables) {
  std::vector<PeakRow> rows;
  for (const PlanRow &plan : plans)
    llvm::append_range(rows, groupPeakRows(plan, tables));
  std::vector<Column<PeakRow>> columns;
  std::string title = "live at the peak of each step";
  if (plans.size() == 1)
    title = describePeak(plans.front().plan);
  else
    columns = getPlanSettings<PeakRow>();
  llvm::append_range(columns, getPeakColumns(plans.size() == 1 ? Show::Text : Show::Wide));
  return {"peak-buffers", std::move(title), columns, llvm::ArrayRef(rows)};
}
