//===- CompilationTime.cpp - The time and the cache of a compilation ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/CompilationTime.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kPipeline = "pipeline", kKernels = "kernels";

int64_t CompilationTime::countCacheHits() const {
  return llvm::count_if(kernels, [](const KernelTime &each) { return each.kernel.wasCached; });
}

/// Returns whether the timer is that of a pass manager: "'func.func' Pipeline".
static bool isNestedPipeline(llvm::StringRef name) { return name.ends_with(" Pipeline"); }

CompilationTime bench::summarizeCompilation(llvm::ArrayRef<TimedPhase> phases, llvm::ArrayRef<CachedKernel> kernels) {
  CompilationTime time;
  llvm::MapVector<llvm::StringRef, PassTimes> passes;
  llvm::StringMap<double> kernelSeconds;
  for (const TimedPhase &phase : phases) {
    if (phase.outer.empty()) {
      time.phases.push_back({phase.name, phase.runs, phase.seconds});
      continue;
    }
    // Analyses are within passes, whose time includes them.
    bool isPass = phase.outer.front() == kPipeline && !isNestedPipeline(phase.name) &&
                  (phase.outer.size() == 1 || isNestedPipeline(phase.outer.back()));
    if (isPass) {
      PassTimes &pass = passes[phase.name];
      pass.name = phase.name;
      pass.runs += phase.runs;
      pass.seconds += phase.seconds;
    }
    if (phase.outer.front() != kKernels)
      continue;
    if (phase.outer.size() == 1)
      time.phases.push_back({(kKernels + ": " + phase.name).str(), phase.runs, phase.seconds});
    else
      kernelSeconds[phase.name] += phase.seconds;
  }
  for (auto &[name, pass] : passes)
    time.passes.push_back(std::move(pass));
  for (const CachedKernel &kernel : kernels)
    time.kernels.push_back({kernel, kernelSeconds.lookup(kernel.kernel + " " + kernel.architecture)});
  auto isLonger = [](const auto &a, const auto &b) { return a.seconds > b.seconds; };
  llvm::stable_sort(time.passes, isLonger);
  llvm::stable_sort(time.kernels, isLonger);
  return time;
}

static Table makePassTable(std::string name, std::string title, llvm::StringRef head, llvm::ArrayRef<PassTimes> rows) {
  using Row = PassTimes;
  std::vector<Column<Row>> columns{
      {head.str(), head.str(), [](const Row &row) { return Cell(row.name); }, Show::Text, Role::Setting},
      {"runs", "runs", [](const Row &row) { return Cell::integer(row.runs); }},
      {"time (ms)", "time_ms", [](const Row &row) { return Cell::number(row.seconds * 1e3, 3); }}};
  return {std::move(name), std::move(title), columns, rows};
}

static Table makePhaseTable(const CompilationTime &time) {
  return makePassTable("compile-phases", "compile time by phase", "phase", time.phases);
}

static Table makePassTable(const CompilationTime &time) {
  return makePassTable("compile-passes", "compile time by pass", "pass", time.passes);
}

static Table makeKernelTable(const CompilationTime &time) {
  using Row = KernelTime;
  std::vector<Column<Row>> columns{
      {"kernel", "kernel", [](const Row &row) { return Cell(row.kernel.kernel); }, Show::Text, Role::Setting},
      {"architecture", "architecture", [](const Row &row) { return Cell(row.kernel.architecture); }, Show::Setting},
      {"cache", "cache", [](const Row &row) { return Cell(llvm::StringRef(row.kernel.wasCached ? "hit" : "miss")); }},
      {"time (ms)", "time_ms",
       [](const Row &row) { return row.kernel.wasCached ? Cell::empty() : Cell::number(row.seconds * 1e3, 3); }}};
  std::string title = llvm::formatv("compile time by kernel: {0} from the cache, {1} compiled", time.countCacheHits(),
                                    static_cast<int64_t>(time.kernels.size()) - time.countCacheHits());
  return {"compile-kernels", std::move(title), columns, llvm::ArrayRef(time.kernels)};
}

std::vector<Table> bench::makeCompileTables(const CompilationTime &time) {
  std::vector<Table> tables{makePhaseTable(time), makePassTable(time)};
  if (!time.kernels.empty())
    tables.push_back(makeKernelTable(time));
  return tables;
}

json::Object bench::toJSON(const CompilationTime &time) {
  int64_t hits = time.countCacheHits();
  return json::Object{{"phases", makePhaseTable(time).getObjects()},
                      {"passes", makePassTable(time).getObjects()},
                      {"kernels", makeKernelTable(time).getObjects()},
                      {"cache_hits", hits},
                      {"cache_misses", static_cast<int64_t>(time.kernels.size()) - hits}};
}
