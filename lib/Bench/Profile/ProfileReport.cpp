//===- ProfileReport.cpp - Where the time of runs goes, as rows -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace cs336;
using namespace cs336::bench;

/// Returns the facts of the groups that `isPart` selects.
static ProfileFacts computeFacts(const RunProfile &profile,
                                 llvm::function_ref<bool(const RunProfile::Group &)> isPart) {
  struct Kernel {
    bool isGemm;
    std::string name;
    int64_t nanoseconds;
  };
  std::map<std::pair<bool, std::string>, int64_t> sums;
  int64_t whole = 0;
  for (const RunProfile::Group &group : profile.getGroups()) {
    if (!isPart(group))
      continue;
    const runtime::TracedCommand *command = profile.findCommand(group);
    sums[{command && command->kind == "gemm", profile.getName(group).str()}] += group.times.getTotal();
    whole += group.times.getTotal();
  }
  std::vector<Kernel> kernels;
  for (const auto &[key, nanoseconds] : sums)
    kernels.push_back({key.first, key.second, nanoseconds});
  llvm::stable_sort(kernels, [](const Kernel &a, const Kernel &b) { return a.nanoseconds > b.nanoseconds; });
  ProfileFacts facts;
  for (const Kernel &kernel : kernels) {
    double share = whole > 0 ? static_cast<double>(kernel.nanoseconds) / static_cast<double>(whole) : 0;
    if (kernel.isGemm)
      facts.gemmShare += share;
    if (!facts.longest)
      facts.longest = {kernel.name, share};
    if (!facts.longestOutsideGemms && !kernel.isGemm)
      facts.longestOutsideGemms = {kernel.name, share};
  }
  return facts;
}

ProfileFacts cs336::bench::computeProfileFacts(const RunProfile &profile) {
  return computeFacts(profile, [](const RunProfile::Group &) { return true; });
}

std::vector<PhaseFacts> cs336::bench::computePhaseFacts(const RunProfile &profile) {
  llvm::MapVector<llvm::StringRef, int64_t> sums;
  for (const RunProfile::Group &group : profile.getGroups())
    if (const runtime::TracedCommand *command = profile.findCommand(group))
      sums[command->phase] += group.times.getTotal();
  std::vector<PhaseFacts> phases;
  for (const auto &[phase, nanoseconds] : sums) {
    auto isPart = [&, phase = phase](const RunProfile::Group &group) {
      const runtime::TracedCommand *command = profile.findCommand(group);
      return command && command->phase == phase;
    };
    phases.push_back({phase.str(), nanoseconds, computeFacts(profile, isPart)});
  }
  return phases;
}

std::string cs336::bench::describeTotal(const RunProfile &profile) {
  return llvm::formatv("{0:f3} ms in {1} runs, of which GEMMs take {2:f1} %",
                       static_cast<double>(profile.getNanoseconds()) * 1e-6, profile.getInstances(),
                       100 * computeProfileFacts(profile).gemmShare);
}

std::string cs336::bench::describeTimeOutside(const RunProfile &profile, double milliseconds) {
  double inside = static_cast<double>(profile.getNanoseconds()) * 1e-6;
  double share = milliseconds > 0 ? std::max(0.0, 1 - inside / milliseconds) : 0;
  return llvm::formatv("steps: {0:f3} ms, {1:f1} % outside of commands (inputs, outputs, and the profiler itself)",
                       milliseconds, 100 * share);
}

/// Returns a column with a statistic of the rows.
template <typename Row>
static Column<Row> makeInteger(std::string title, std::string key, int64_t (DurationStatistics::*get)() const,
                               Show show = Show::Result) {
  auto extract = [get](const Row &row) { return Cell::integer((row.times.*get)()); };
  return {std::move(title), std::move(key), extract, show};
}

template <typename Row>
static Column<Row> makeNumber(std::string title, std::string key, double (DurationStatistics::*get)() const,
                              Show show = Show::Result) {
  auto extract = [get](const Row &row) { return Cell::number((row.times.*get)(), 1); };
  return {std::move(title), std::move(key), extract, show};
}

/// Returns a column with whether the median is an estimate.
template <typename Row>
static Column<Row> makeEstimated() {
  return {"Med estimated", "med_is_estimated",
          [](const Row &row) { return Cell::data(llvm::json::Value(row.times.isMedianEstimated())); }, Show::Data};
}

static std::vector<Column<RunProfile::Row>> getColumns(ProfileKey key) {
  using Row = RunProfile::Row;
  using Times = DurationStatistics;
  std::vector<Column<Row>> columns{
      {"Time (%)", "time_percent", [](const Row &row) { return Cell::number(100 * row.share, 1); }},
      makeInteger<Row>("Total Time (ns)", "total_ns", &Times::getTotal),
      makeInteger<Row>("Instances", "instances", &Times::getInstances),
      makeNumber<Row>("Avg (ns)", "avg_ns", &Times::getAverage),
      makeNumber<Row>("Med (ns)", "med_ns", &Times::getMedian, Show::Wide),
      makeInteger<Row>("Min (ns)", "min_ns", &Times::getShortest),
      makeInteger<Row>("Max (ns)", "max_ns", &Times::getLongest),
      makeNumber<Row>("StdDev (ns)", "stddev_ns", &Times::getStandardDeviation, Show::Wide),
      {"Phase", "phase", [](const Row &row) { return Cell(row.phase); }},
      {"Name", "name", [](const Row &row) { return Cell(row.name); }, Show::Text},
      makeEstimated<Row>()};
  if (key == ProfileKey::Kernel)
    columns.push_back({"Commands", "commands",
                       [](const Row &row) { return Cell::data(llvm::json::Array(row.commands)); }, Show::Data});
  return columns;
}

//===----------------------------------------------------------------------===//
// Kernels by range
//===----------------------------------------------------------------------===//

namespace {
/// A kernel in one range of one phase.
struct RangeKernelRow {
  /// See `getRangePath`.
  std::string range;
  /// The number of times that the range was entered.
  int64_t rangeInstances = 0;
  std::string kernel;
  DurationStatistics times = {};
};
} // namespace

static std::vector<RangeKernelRow> getRangeKernelRows(const RunProfile &profile) {
  std::map<std::pair<std::string, std::string>, RangeKernelRow> byKey;
  for (const RunProfile::Group &group : profile.getGroups()) {
    std::string range = getRangePath(profile.findCommand(group)), kernel = profile.getName(group).str();
    // Copies of inputs and outputs have no range.
    if (range.empty())
      continue;
    RangeKernelRow &row = byKey[{range, kernel}];
    row.rangeInstances = profile.getRangeInstances(range);
    row.range = std::move(range);
    row.kernel = std::move(kernel);
    row.times.add(group.times);
  }
  std::vector<RangeKernelRow> rows;
  for (auto &[key, row] : byKey)
    rows.push_back(std::move(row));
  llvm::stable_sort(
      rows, [](const RangeKernelRow &a, const RangeKernelRow &b) { return a.times.getTotal() > b.times.getTotal(); });
  return rows;
}

/// Returns the columns of nsys' nvtx_kern_sum. Ranges of this process are on its main thread.
static std::vector<Column<RangeKernelRow>> getRangeKernelColumns() {
  using Row = RangeKernelRow;
  using Times = DurationStatistics;
  auto getProcess = [](const Row &) { return Cell::integer(llvm::sys::Process::getProcessId()); };
  return {{"NVTX Range", "nvtx_range", [](const Row &row) { return Cell(row.range); }},
          {"Style", "style", [](const Row &) { return Cell(llvm::StringRef("PushPop")); }, Show::Wide},
          {"PID", "pid", getProcess, Show::Wide},
          {"TID", "tid", getProcess, Show::Wide},
          {"NVTX Inst", "nvtx_instances", [](const Row &row) { return Cell::integer(row.rangeInstances); }},
          makeInteger<Row>("Kern Inst", "instances", &Times::getInstances),
          makeInteger<Row>("Total Time (ns)", "total_ns", &Times::getTotal),
          makeNumber<Row>("Avg (ns)", "avg_ns", &Times::getAverage),
          makeNumber<Row>("Med (ns)", "med_ns", &Times::getMedian, Show::Wide),
          makeInteger<Row>("Min (ns)", "min_ns", &Times::getShortest, Show::Wide),
          makeInteger<Row>("Max (ns)", "max_ns", &Times::getLongest, Show::Wide),
          makeNumber<Row>("StdDev (ns)", "stddev_ns", &Times::getStandardDeviation, Show::Wide),
          {"Kernel Name", "name", [](const Row &row) { return Cell(row.kernel); }, Show::Text},
          makeEstimated<Row>()};
}

static Table makeRangeKernelTable(std::string name, std::string title, const RunProfile &profile, size_t numRows) {
  std::vector<RangeKernelRow> rows = getRangeKernelRows(profile);
  return {std::move(name), std::move(title), getRangeKernelColumns(), llvm::ArrayRef(rows).take_front(numRows)};
}

//===----------------------------------------------------------------------===//
// All tables
//===----------------------------------------------------------------------===//

std::vector<ColumnHead> cs336::bench::getProfileColumns() {
  std::vector<Column<RunProfile::Row>> columns = getColumns(ProfileKey::Kernel);
  std::vector<ColumnHead> heads(columns.begin(), columns.end());
  for (const ColumnHead &head : getRangeKernelColumns())
    if (llvm::none_of(heads, [&](const ColumnHead &known) { return known.key == head.key; }))
      heads.push_back(head);
  return heads;
}

Table cs336::bench::makeProfileTable(std::string name, std::string title, const RunProfile &profile, ProfileKey key,
                                     size_t numRows) {
  if (key == ProfileKey::RangeKernel)
    return makeRangeKernelTable(std::move(name), std::move(title), profile, numRows);
  std::vector<RunProfile::Row> rows = profile.getRows(key);
  return {std::move(name), std::move(title), getColumns(key), llvm::ArrayRef(rows).take_front(numRows)};
}

static void appendLongest(std::vector<std::string> &notes, const char *what,
                          const std::optional<ProfileFacts::Longest> &kernel) {
  if (kernel)
    notes.push_back(llvm::formatv("{0}: {1:f1} % in {2}", what, 100 * kernel->share, kernel->name));
}

void cs336::bench::appendProfile(Report &report, const std::string &name, const std::string &title,
                                 const RunProfile &profile, const ProfileLayout &layout,
                                 const std::optional<Ceilings> &ceilings) {
  for (auto [index, key] : llvm::enumerate(layout.keys)) {
    std::string suffix = layout.keys.size() == 1 ? "" : "-" + stringifyProfileKey(key).str();
    report.tables.push_back(makeProfileTable(name + suffix, index == 0 ? title + describeTotal(profile) : "", profile,
                                             key, layout.numRows));
    if (!layout.columns.empty())
      report.tables.back().select(layout.columns);
  }
  if (ceilings)
    report.tables.push_back(makeRooflineTable(name + "-roofline", profile, *ceilings, layout.numRows));
  ProfileFacts facts = computeProfileFacts(profile);
  appendLongest(report.notes, "most time", facts.longest);
  appendLongest(report.notes, "most time outside GEMMs", facts.longestOutsideGemms);
  if (profile.hasEstimatedMedians())
    report.notes.push_back(llvm::formatv("medians are estimates, within 0.4 %, where a kernel or command of the step "
                                         "ran more than {0} times",
                                         DurationStatistics::kMostKept));
  if (!profile.note.empty())
    report.notes.push_back(profile.note);
}
