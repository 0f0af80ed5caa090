//===- ExplainReport.cpp - Explained kernels as rows ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/ExplainReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

namespace {
/// A part of a kernel, as a row of its table.
template <typename Part>
struct PartRow {
  const KernelFacts *kernel;
  const Part *part;
};
} // namespace

template <typename Part>
static std::vector<PartRow<Part>> listParts(llvm::ArrayRef<KernelFacts> kernels,
                                            std::vector<Part> KernelFacts::*parts) {
  std::vector<PartRow<Part>> rows;
  for (const KernelFacts &kernel : kernels)
    for (const Part &part : kernel.*parts)
      rows.push_back({&kernel, &part});
  return rows;
}

template <typename Part>
static Column<PartRow<Part>> makeKernelColumn() {
  return {"kernel", "kernel", [](const PartRow<Part> &row) { return Cell(row.kernel->name); }, Show::Setting};
}

static Table makeLaunchTable(llvm::ArrayRef<KernelFacts> kernels) {
  using Row = PartRow<LaunchGroup>;
  std::vector<Column<Row>> columns{
      makeKernelColumn<LaunchGroup>(),
      {"entry", "entry", [](const Row &row) { return Cell(row.part->entry); }, Show::Setting},
      {"phase", "phase", [](const Row &row) { return Cell(row.part->phase); }, Show::Setting},
      {"launches", "launches", [](const Row &row) { return Cell::integer(row.part->count); }},
      {"layers", "layers", [](const Row &row) { return Cell::integer(static_cast<int64_t>(row.part->layers.size())); }},
      {"operation", "operation", [](const Row &row) { return Cell(row.part->operation); }, Show::Text},
      {"first location", "location", [](const Row &row) { return Cell(row.part->location); }, Show::Text}};
  // Long, and repeats the operation.
  if (kernels.size() > 1)
    columns.back().show = Show::OnRequest;
  std::vector<Row> rows = listParts(kernels, &KernelFacts::launches);
  return {"launches", "launched for", columns, llvm::ArrayRef(rows)};
}

static Table makeScheduleTable(llvm::ArrayRef<KernelFacts> kernels) {
  using Row = PartRow<ScheduleFacts>;
  std::vector<Column<Row>> columns{
      makeKernelColumn<ScheduleFacts>(),
      {"target", "target", [](const Row &row) { return Cell(row.part->target); }, Show::Setting},
      {"schedule", "schedule", [](const Row &row) { return Cell(row.part->name); }},
      {"parameters", "parameters", [](const Row &row) { return Cell::optional(row.part->parameters); }, Show::Text}};
  std::vector<Row> rows = listParts(kernels, &KernelFacts::schedules);
  return {"schedules", "schedules", columns, llvm::ArrayRef(rows)};
}

static Table makeFunctionTable(llvm::ArrayRef<KernelFacts> kernels) {
  using Row = PartRow<FunctionFacts>;
  auto getGrid = [](int64_t KernelFunction::*member) {
    return [member](const Row &row) { return Cell::integer(row.part->function.*member); };
  };
  auto getResource = [](int64_t CubinResources::*member) {
    return [member](const Row &row) {
      return row.part->resources ? Cell::integer((*row.part->resources).*member) : Cell::empty();
    };
  };
  auto getOccupancy = [](auto get) {
    return [get](const Row &row) { return row.part->occupancy ? get(*row.part->occupancy) : Cell::empty(); };
  };
  std::vector<Column<Row>> columns{
      {"function", "function", [](const Row &row) { return Cell(row.part->function.symbol); }, Show::Text,
       Role::Setting},
      {"architecture", "architecture", [](const Row &row) { return Cell(row.part->architecture); }, Show::Setting},
      {"blocks", "blocks", getGrid(&KernelFunction::blocks)},
      {"threads", "threads", getGrid(&KernelFunction::threads)},
      {"cluster", "cluster", getGrid(&KernelFunction::cluster)},
      {"registers", "registers", getResource(&CubinResources::registersPerThread)},
      {"spilled (B)", "spilled_bytes",
       [](const Row &row) { return row.part->spilledBytes ? Cell::integer(*row.part->spilledBytes) : Cell::empty(); }},
      {"local (B)", "local_bytes", getResource(&CubinResources::localBytesPerThread)},
      {"static shared (B)", "static_shared_bytes", getResource(&CubinResources::staticSharedBytes)},
      {"dynamic shared (B)", "dynamic_shared_bytes", getGrid(&KernelFunction::sharedBytes)},
      {"blocks/SM", "blocks_per_multiprocessor",
       getOccupancy([](const cuda::Occupancy &each) { return Cell::integer(each.blocks); })},
      {"occupancy (%)", "occupancy_percent",
       getOccupancy([](const cuda::Occupancy &each) { return Cell::number(100 * each.share, 1); })},
      {"limited by", "limited_by",
       getOccupancy([](const cuda::Occupancy &each) { return Cell(cuda::stringifyOccupancyLimit(each.limit)); })}};
  std::vector<Row> rows = listParts(kernels, &KernelFacts::functions);
  return {"functions", "functions of a launch, in order", columns, llvm::ArrayRef(rows)};
}

static json::Array listTexts(llvm::ArrayRef<Listing> listings) {
  json::Array texts;
  for (const Listing &listing : listings)
    texts.push_back(json::Object{{"title", listing.title}, {"language", listing.language}, {"text", listing.text}});
  return texts;
}

std::vector<Column<KernelFacts>> bench::getExplainColumns() {
  using Row = KernelFacts;
  auto addData = [](std::string key, Column<Row>::Extract get) {
    return Column<Row>(key, key, std::move(get), Show::Data);
  };
  return {
      {"kernel", "kernel", [](const Row &row) { return Cell(row.name); }, Show::Text, Role::Setting},
      {"kind", "kind", [](const Row &row) { return Cell(row.kind); }, Show::OnRequest, Role::Setting},
      {"launches", "launches", [](const Row &row) { return Cell::integer(row.countLaunches()); }},
      {"bytes", "bytes", [](const Row &row) { return Cell::integer(std::llround(row.getBytes())); }},
      {"FLOPs", "flops", [](const Row &row) { return Cell::integer(std::llround(row.getFlops())); }},
      {"FLOP/B", "flop_per_byte",
       [](const Row &row) {
         return row.getBytes() > 0 ? Cell::number(row.getFlops() / row.getBytes(), 2) : Cell::empty();
       }},
      {"arithmetic", "arithmetic", [](const Row &row) { return Cell::optional(row.arithmetic); }, Show::Result,
       Role::Result},
      {"memory (us)", "memory_us", [](const Row &row) { return Cell::number(row.getPredicted().memory * 1e6, 3); },
       Show::OnRequest},
      {"compute (us)", "compute_us", [](const Row &row) { return Cell::number(row.getPredicted().compute * 1e6, 3); },
       Show::OnRequest},
      {"expected (us)", "expected_us", [](const Row &row) { return Cell::number(row.getExpectedSeconds() * 1e6, 3); }},
      {"measured (us)", "measured_us",
       [](const Row &row) { return row.measured ? Cell::number(row.measured->seconds * 1e6, 3) : Cell::empty(); }},
      {"ratio", "measured_over_expected",
       [](const Row &row) {
         return row.measured ? Cell::number(row.measured->seconds / row.getExpectedSeconds(), 2) : Cell::empty();
       }},
      {"bound by", "bound_by", [](const Row &row) { return Cell(stringifyBound(row.getPredicted().getBound())); }},
      addData("launched_for", [](const Row &row) { return Cell::data(makeLaunchTable(row).getObjects()); }),
      addData("schedules", [](const Row &row) { return Cell::data(makeScheduleTable(row).getObjects()); }),
      addData("functions", [](const Row &row) { return Cell::data(makeFunctionTable(row).getObjects()); }),
      addData("operations", [](const Row &row) { return Cell::data(row.operations.text); }),
      addData("texts", [](const Row &row) { return Cell::data(listTexts(row.texts)); })};
}

Report bench::makeExplainReport(const ExplainedProgram &program, json::Object context, llvm::StringRef device,
                                const std::optional<CompilationTime> &compilationTime) {
  llvm::ArrayRef<KernelFacts> kernels = program.kernels;
  std::string title =
      llvm::formatv("work and time of a launch, expected on {0}; {1} of the program's {2} kernels, GEMMs and copies",
                    device, kernels.size(), program.numKernels);
  Report report{std::move(context), {{"explain", std::move(title), getExplainColumns(), kernels}}, program.notes};
  report.tables.push_back(makeLaunchTable(kernels));
  for (Table table : {makeScheduleTable(kernels), makeFunctionTable(kernels)})
    if (!table.getRows().empty())
      report.tables.push_back(std::move(table));
  if (compilationTime) {
    report.context["compile_time"] = toJSON(*compilationTime);
    llvm::append_range(report.tables, makeCompileTables(*compilationTime));
  }
  if (kernels.size() == 1) {
    if (!kernels.front().operations.text.empty())
      report.listings.push_back(kernels.front().operations);
    if (kernels.front().kind == kGemm)
      report.notes.emplace_back("a library runs GEMMs: their text and resources are unknown");
    llvm::append_range(report.listings, kernels.front().texts);
  } else {
    report.notes.emplace_back("the whole name of one kernel also prints its operations and its text");
  }
  return report;
}
