//===- ModelProfileTables.cpp - Profiles of a sweep, side by side ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelProfileTables.h"

#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/Profile/AttentionTimes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

namespace {
/// One phase of one row's profile.
struct PhaseRow {
  const ModelRow *model;
  PhaseFacts phase;
};
} // namespace

/// Returns milliseconds per step of a sum over all profiled steps.
static double perStep(const ModelRow &row, int64_t nanoseconds) {
  auto steps = static_cast<double>(std::max<size_t>(1, row.measurement.profiledMilliseconds.size()));
  return static_cast<double>(nanoseconds) * 1e-6 / steps;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

static Cell makePercent(double share) { return Cell::number(100 * share, 1); }

static std::vector<Column<PhaseRow>> getPhaseFactColumns() {
  using Row = PhaseRow;
  using Longest = std::optional<ProfileFacts::Longest>;
  std::vector<Column<Row>> columns{
      {"phase", "phase", [](const Row &row) { return Cell(row.phase.phase); }},
      {"kernels (ms)", "kernels_ms",
       [](const Row &row) { return Cell::number(perStep(*row.model, row.phase.nanoseconds), 3); }},
      {"GEMMs (%)", "gemm_percent", [](const Row &row) { return makePercent(row.phase.facts.gemmShare); }}};
  auto add = [&](const std::string &title, const std::string &key, Longest ProfileFacts::*member) {
    columns.push_back({"%", key + "_percent", [member](const Row &row) {
                         const Longest &kernel = row.phase.facts.*member;
                         return kernel ? makePercent(kernel->share) : Cell::empty();
                       }});
    columns.push_back({title, key,
                       [member](const Row &row) {
                         const Longest &kernel = row.phase.facts.*member;
                         return kernel ? Cell(kernel->name) : Cell::empty();
                       },
                       Show::Text});
  };
  add("longest kernel", "longest_kernel", &ProfileFacts::longest);
  add("longest outside GEMMs", "longest_outside_gemms", &ProfileFacts::longestOutsideGemms);
  return columns;
}

static std::vector<PhaseRow> listPhases(const ModelRow &row) {
  std::vector<PhaseRow> phases;
  if (row.measurement.profile)
    for (PhaseFacts &facts : computePhaseFacts(*row.measurement.profile))
      phases.push_back({&row, std::move(facts)});
  return phases;
}

/// Adds the members of a profile by phase to the objects of the phases.
static void addTimes(json::Array &phases, const json::Array &profile) {
  for (json::Value &phase : phases)
    for (const json::Value &times : profile)
      if (times.getAsObject()->getString("phase") == phase.getAsObject()->getString("phase"))
        for (const auto &[key, value] : *times.getAsObject())
          phase.getAsObject()->try_emplace(key, value);
}

Column<ModelRow> cs336::bench::getProfilePhasesColumn() {
  return {"phases", "profile_phases",
          [](const ModelRow &row) {
            std::vector<PhaseRow> phases = listPhases(row);
            if (phases.empty())
              return Cell::empty();
            json::Array objects = Table("", "", getPhaseFactColumns(), llvm::ArrayRef(phases)).getObjects();
            addTimes(objects, makeProfileTable("", "", *row.measurement.profile, ProfileKey::Phase).getObjects());
            return Cell::data(std::move(objects));
          },
          Show::Data};
}

static void appendPhaseTable(Report &report, llvm::ArrayRef<ModelRow> rows) {
  std::vector<PhaseRow> phases;
  for (const ModelRow &row : rows)
    llvm::append_range(phases, listPhases(row));
  if (phases.empty())
    return;
  std::vector<Column<PhaseRow>> columns;
  for (const Column<ModelRow> &setting : getModelSettings<ModelRow>())
    columns.push_back({setting.title, setting.key,
                       [extract = setting.extract](const PhaseRow &row) { return extract(*row.model); }, setting.show,
                       setting.role});
  llvm::append_range(columns, getPhaseFactColumns());
  report.tables.push_back(
      {"phases", "time of kernels by phase, and the kernels that take most of it", columns, llvm::ArrayRef(phases)});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Returns nullopt if the row has no profile, or its forward pass no attention.
static std::optional<AttentionTimes> findAttentionTimes(const ModelRow &row) {
  if (!row.measurement.profile)
    return std::nullopt;
  AttentionTimes times = computeAttentionTimes(*row.measurement.profile);
  return times.getTotal() > 0 ? std::optional(times) : std::nullopt;
}

static std::vector<Column<ModelRow>> makeAttentionPartColumns(Show show) {
  std::vector<Column<ModelRow>> columns;
  auto addTime = [&](const std::string &part, const std::string &key, auto get) {
    columns.push_back({part + " (ms)", key,
                       [get](const ModelRow &row) {
                         std::optional<AttentionTimes> times = findAttentionTimes(row);
                         int64_t nanoseconds = times ? get(*times) : 0;
                         return nanoseconds > 0 ? Cell::number(perStep(row, nanoseconds), 3) : Cell::empty();
                       },
                       show});
  };
  addTime("scores", "scores_ms", [](const AttentionTimes &times) { return times.scores; });
  addTime("mask", "mask_ms", [](const AttentionTimes &times) { return times.mask; });
  addTime("softmax", "softmax_ms", [](const AttentionTimes &times) { return times.softmax; });
  addTime("values", "values_ms", [](const AttentionTimes &times) { return times.values; });
  addTime("one kernel", "fused_attention_ms", [](const AttentionTimes &times) { return times.fused; });
  addTime("attention", "attention_ms", [](const AttentionTimes &times) { return times.getTotal(); });
  columns.push_back({"softmax/matmuls", "softmax_over_matmuls",
                     [](const ModelRow &row) {
                       std::optional<AttentionTimes> times = findAttentionTimes(row);
                       return Cell::number(times ? times->getSoftmaxOverMatmuls() : std::nullopt, 3);
                     },
                     show});
  columns.push_back({"by FLOPs", "softmax_flops_over_matmuls",
                     [](const ModelRow &row) {
                       const TransformerConfig &config = row.description.transformer;
                       if (!findAttentionTimes(row))
                         return Cell::empty();
                       return Cell::number(getSoftmaxFlopsOverMatmuls(config.dModel / config.numHeads), 4);
                     },
                     show});
  return columns;
}

std::vector<Column<ModelRow>> cs336::bench::getAttentionPartColumns() {
  return makeAttentionPartColumns(Show::OnRequest);
}

static void appendAttentionTable(Report &report, llvm::ArrayRef<ModelRow> rows) {
  std::vector<ModelRow> profiled;
  llvm::copy_if(rows, std::back_inserter(profiled),
                [](const ModelRow &row) { return findAttentionTimes(row).has_value(); });
  if (profiled.empty())
    return;
  std::vector<Column<ModelRow>> columns = getModelSettings<ModelRow>();
  llvm::append_range(columns, makeAttentionPartColumns(Show::Result));
  report.tables.push_back({"attention",
                           "attention in the forward pass, all layers: softmax over matmuls by time, and by FLOPs "
                           "(5 S² : 4 S² head_dim)",
                           columns, llvm::ArrayRef(profiled)});
}

void cs336::bench::appendProfileTables(Report &report, llvm::ArrayRef<ModelRow> rows) {
  appendPhaseTable(report, rows);
  appendAttentionTable(report, rows);
}
