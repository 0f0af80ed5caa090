//===- MemoryTables.cpp - Tables of a plan's memory -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/MemoryTables.h"

#include "cs336/Support/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;

namespace {
/// One kind of memory at the peak of each phase.
struct KindRow {
  llvm::StringRef kind;
  std::vector<int64_t> bytes;
};
} // namespace

static std::vector<KindRow> listKinds(const ModelPlan &plan) {
  KindBytes residents = plan.timeline.getResidentBytes();
  std::vector<KindRow> rows;
  for (MemoryKind kind : getMemoryKinds()) {
    KindRow row{stringifyMemoryKind(kind), {}};
    for (const PhaseSummary &phase : plan.phases)
      row.bytes.push_back(residents[kind] + phase.live[kind]);
    if (llvm::any_of(row.bytes, [](int64_t bytes) { return bytes > 0; }))
      rows.push_back(std::move(row));
  }
  KindRow sum{"all", {}};
  for (const PhaseSummary &phase : plan.phases)
    sum.bytes.push_back(residents.getTotal() + phase.live.getTotal());
  rows.push_back(std::move(sum));
  return rows;
}

Table cs336::bench::makePeakTable(const ModelPlan &plan) {
  std::vector<Column<KindRow>> columns{{"kind", "kind", [](const KindRow &row) { return Cell(row.kind); }}};
  for (auto [index, phase] : llvm::enumerate(plan.phases)) {
    std::string name = exec::stringifyCommandPhase(phase.phase).str();
    columns.push_back(
        {name + " (MiB)", name + "_mib", [index](const KindRow &row) { return Cell::mebibytes(row.bytes[index]); }});
  }
  return {"peaks", "live at the peak of each phase", columns, llvm::ArrayRef(listKinds(plan))};
}

Table cs336::bench::makeKeptTable(const ModelPlan &plan, size_t most) {
  const LayerMemory &memory = plan.layerMemory;
  auto whole = static_cast<double>(memory.keptBytes);
  std::string title =
      llvm::formatv("kept for the backward pass by {0}: {1} in {2} buffers; gradients: {3}", memory.layer,
                    formatBytes(memory.keptBytes), memory.kept.size(), formatBytes(memory.gradientBytes));
  auto getShare = [whole](const Allocation &row) {
    double share = static_cast<double>(row.bytes) / whole;
    return Cell(llvm::formatv("{0:P1}", share).str(), share);
  };
  std::vector<Column<Allocation>> columns{
      {"MiB", "mib", [](const Allocation &row) { return Cell::mebibytes(row.bytes); }},
      {"share", "share", getShare},
      {"buffer", "type", [](const Allocation &row) { return Cell(row.type); }},
      {"of", "source", [](const Allocation &row) { return Cell(row.source); }, Show::Text},
      {"bytes", "bytes", [](const Allocation &row) { return Cell::integer(row.bytes); }, Show::OnRequest}};
  return {"kept", std::move(title), columns, llvm::ArrayRef(memory.kept).take_front(most)};
}
