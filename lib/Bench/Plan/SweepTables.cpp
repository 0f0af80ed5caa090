//===- SweepTables.cpp - Memory of several plans, side by side ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Plan/SweepTables.h"

#include "PlanSettings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;

namespace {
struct PhaseRow {
  const PlanRow *plan;
  const PhaseSummary *phase;
  KindBytes bytes;
};

struct BufferRow {
  const PlanRow *plan;
  const Allocation *buffer;
};
} // namespace

std::vector<Column<PlanRow>> cs336::bench::getExchangeSettings() {
  return {{"distribute", "distribute",
           [](const PlanRow &row) {
             return row.exchange ? Cell(stringifyDistribution(row.exchange->mode)) : Cell::empty();
           },
           Show::Setting},
          {"bucket (MiB)", "bucket_mib",
           [](const PlanRow &row) { return row.exchange ? row.exchange->makeBucketSize() : Cell::empty(); },
           Show::Setting}};
}

Table cs336::bench::makePhasePeakTable(llvm::ArrayRef<PlanRow> rows) {
  using Row = PhaseRow;
  std::vector<Row> phases;
  for (const PlanRow &row : rows)
    for (const PhaseSummary &phase : row.plan.phases) {
      KindBytes bytes = row.plan.timeline.getResidentBytes();
      for (MemoryKind kind : getMemoryKinds())
        bytes[kind] += phase.live[kind];
      phases.push_back({&row, &phase, bytes});
    }
  std::vector<Column<Row>> columns = getPlanSettings<Row>();
  columns.push_back({"phase", "phase",
                     [](const Row &row) { return Cell(exec::stringifyCommandPhase(row.phase->phase)); },
                     Show::Setting});
  columns.push_back({"peak (MiB)", "peak_mib", [](const Row &row) { return Cell::mebibytes(row.bytes.getTotal()); }});
  static constexpr MemoryKind kinds[] = {MemoryKind::Parameter, MemoryKind::State, MemoryKind::Derived,
                                         MemoryKind::Gradient, MemoryKind::Activation};
  constexpr const char *titles[] = {"params (MiB)", "state (MiB)", "derived (MiB)", "gradients (MiB)",
                                    "activations (MiB)"};
  constexpr const char *keys[] = {"parameters_mib", "state_mib", "derived_mib", "gradients_mib", "activations_mib"};
  for (auto [kind, title, key] : llvm::zip(kinds, titles, keys)) {
    auto get = [kind = kind](const Row &row) { return Cell::mebibytes(row.bytes[kind]); };
    bool isShown =
        kind != MemoryKind::Derived || llvm::any_of(phases, [&](const Row &row) { return get(row).text != "0.0"; });
    columns.push_back({title, key, get, isShown ? Show::Result : Show::OnRequest});
  }
  columns.push_back({"other (MiB)", "other_mib", [](const Row &row) {
                       int64_t other = row.bytes.getTotal();
                       for (MemoryKind kind : kinds)
                         other -= row.bytes[kind];
                       return Cell::mebibytes(other);
                     }});
  return {"phase-peaks", "memory at the peak of each phase", columns, llvm::ArrayRef(phases)};
}

/// Returns the bytes of one number in the type that the model is built in.
static int64_t getNumberBytes(const PlanRow &row) { return row.description.dtype == BuildType::F64 ? 8 : 4; }

static std::vector<Column<PlanRow>> makeBlockColumns(Show show) {
  std::vector<Column<PlanRow>> columns;
  auto add = [&](const char *title, const char *key, std::optional<int64_t> (*get)(const PlanRow &)) {
    columns.push_back({title, key, [get](const PlanRow &row) { return Cell::mebibytes(get(row)); }, show});
  };
  auto hasBlocks = [](const PlanRow &row) { return !row.plan.layerMemory.kept.empty(); };
  add("residual stream (MiB)", "residual_stream_mib", [](const PlanRow &row) -> std::optional<int64_t> {
    const TransformerConfig &config = row.description.transformer;
    return config.batchSize * config.contextLength * config.dModel * getNumberBytes(row);
  });
  using Get = std::function<Cell(const PlanRow &)>;
  auto addOfBlock = [&](const char *title, const char *key, int64_t (*get)(const PlanRow &)) {
    Get extract = [=](const PlanRow &row) { return hasBlocks(row) ? Cell::mebibytes(get(row)) : Cell::empty(); };
    columns.push_back({title, key, extract, show});
  };
  addOfBlock("kept by a block (MiB)", "kept_by_block_mib",
             [](const PlanRow &row) { return row.plan.layerMemory.keptBytes; });
  columns.push_back({"buffers", "kept_buffers",
                     [=](const PlanRow &row) {
                       auto count = static_cast<int64_t>(row.plan.layerMemory.kept.size());
                       return hasBlocks(row) ? Cell::integer(count) : Cell::empty();
                     },
                     show});
  addOfBlock("its gradients (MiB)", "block_gradients_mib",
             [](const PlanRow &row) { return row.plan.layerMemory.gradientBytes; });
  addOfBlock("by formula (MiB)", "block_gradients_formula_mib", [](const PlanRow &row) {
    TransformerConfig less = row.description.transformer;
    int64_t all = less.getParameterCount();
    --less.numLayers;
    return (all - less.getParameterCount()) * getNumberBytes(row);
  });
  return columns;
}

std::vector<Column<PlanRow>> cs336::bench::getBlockColumns() { return makeBlockColumns(Show::OnRequest); }

Table cs336::bench::makeBlockTable(llvm::ArrayRef<PlanRow> rows) {
  std::vector<Column<PlanRow>> columns = getModelSettings<PlanRow>();
  llvm::append_range(columns, getExchangeSettings());
  llvm::append_range(columns, makeBlockColumns(Show::Result));
  return {"blocks",
          "the residual stream, and one block: memory kept for the backward pass, gradients of its parameters, and the "
          "same by formula, 4 d_model² + 3 d_model d_ff + 2 d_model numbers in the model's type",
          columns, rows};
}

Table cs336::bench::makeBlockBufferTable(llvm::ArrayRef<PlanRow> rows, size_t most) {
  using Row = BufferRow;
  std::vector<Row> buffers;
  for (const PlanRow &row : rows)
    for (const Allocation &buffer : llvm::ArrayRef(row.plan.layerMemory.kept).take_front(most))
      buffers.push_back({&row, &buffer});
  std::vector<Column<Row>> columns = getPlanSettings<Row>();
  columns.push_back({"MiB", "mib", [](const Row &row) { return Cell::mebibytes(row.buffer->bytes); }});
  columns.push_back({"share", "share", [](const Row &row) {
                       double share = static_cast<double>(row.buffer->bytes) /
                                      static_cast<double>(row.plan->plan.layerMemory.keptBytes);
                       return Cell(llvm::formatv("{0:P1}", share).str(), share);
                     }});
  columns.push_back({"buffer", "type", [](const Row &row) { return Cell(row.buffer->type); }});
  columns.push_back({"of", "source", [](const Row &row) { return Cell(row.buffer->source); }, Show::Text});
  return {"block-buffers", "the largest buffers that one block keeps for the backward pass", columns,
          llvm::ArrayRef(buffers)};
}
