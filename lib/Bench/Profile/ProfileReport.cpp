//===- ProfileReport.cpp - Where the time of runs goes, as rows -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <algorithm>

using namespace cs336;
using namespace cs336::bench;
using runtime::SpanSummary;

static int64_t sumDurations(const runtime::Trace &trace) {
  int64_t nanoseconds = 0;
  for (const runtime::TraceSpan &span : trace.spans)
    nanoseconds += span.duration_ns;
  return nanoseconds;
}

ProfileFacts cs336::bench::computeProfileFacts(const RunProfile &profile) {
  ProfileFacts facts;
  const runtime::Trace &trace = profile.trace;
  auto isGemm = [&](const runtime::TraceSpan &span) {
    const runtime::TracedCommand *command = trace.FindCommand(span);
    return command && command->kind == "gemm";
  };
  auto getKey = [&](const runtime::TraceSpan &span) { return (isGemm(span) ? 'g' : 'o') + trace.names[span.name]; };
  for (const SpanSummary &summary : runtime::SummarizeSpans(trace, getKey)) {
    ProfileFacts::Longest kernel{summary.key.substr(1), summary.share};
    bool ofGemm = summary.key.front() == 'g';
    if (ofGemm)
      facts.gemmShare += summary.share;
    if (!facts.longest)
      facts.longest = kernel;
    if (!facts.longestOutsideGemms && !ofGemm)
      facts.longestOutsideGemms = kernel;
  }
  return facts;
}

std::vector<PhaseFacts> cs336::bench::computePhaseFacts(const RunProfile &profile) {
  llvm::MapVector<llvm::StringRef, RunProfile> parts;
  for (const runtime::TraceSpan &span : profile.trace.spans)
    if (const runtime::TracedCommand *command = profile.trace.FindCommand(span))
      parts[command->phase].trace.spans.push_back(span);
  std::vector<PhaseFacts> phases;
  for (auto &[phase, part] : parts) {
    part.trace.commands = profile.trace.commands;
    part.trace.names = profile.trace.names;
    phases.push_back({phase.str(), sumDurations(part.trace), computeProfileFacts(part)});
  }
  return phases;
}

std::string cs336::bench::describeTotal(const RunProfile &profile) {
  return llvm::formatv("{0:f3} ms in {1} runs, of which GEMMs take {2:f1} %",
                       static_cast<double>(sumDurations(profile.trace)) * 1e-6, profile.trace.spans.size(),
                       100 * computeProfileFacts(profile).gemmShare);
}

std::string cs336::bench::describeTimeOutside(const RunProfile &profile, double milliseconds) {
  double inside = static_cast<double>(sumDurations(profile.trace)) * 1e-6;
  double share = milliseconds > 0 ? std::max(0.0, 1 - inside / milliseconds) : 0;
  return llvm::formatv("steps: {0:f3} ms, {1:f1} % outside of commands (inputs, outputs, and the profiler itself)",
                       milliseconds, 100 * share);
}

static std::vector<Column<RunProfile::Row>> getColumns(ProfileKey key) {
  using Row = RunProfile::Row;
  auto getInteger = [](int64_t SpanSummary::*member) {
    return [member](const Row &row) { return Cell::integer(row.times.*member); };
  };
  auto getNumber = [](double SpanSummary::*member) {
    return [member](const Row &row) { return Cell::number(row.times.*member, 1); };
  };
  std::vector<Column<Row>> columns{
      {"Time (%)", "time_percent", [](const Row &row) { return Cell::number(100 * row.times.share, 1); }},
      {"Total Time (ns)", "total_ns", getInteger(&SpanSummary::total)},
      {"Instances", "instances", getInteger(&SpanSummary::instances)},
      {"Avg (ns)", "avg_ns", getNumber(&SpanSummary::average)},
      {"Med (ns)", "med_ns", getNumber(&SpanSummary::median), Show::Wide},
      {"Min (ns)", "min_ns", getInteger(&SpanSummary::shortest)},
      {"Max (ns)", "max_ns", getInteger(&SpanSummary::longest)},
      {"StdDev (ns)", "stddev_ns", getNumber(&SpanSummary::standard_deviation), Show::Wide},
      {"Phase", "phase", [](const Row &row) { return Cell(row.phase); }},
      {"Name", "name", [](const Row &row) { return Cell(row.name); }, Show::Text}};
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
  /// ":forward/norm", as nsys prints the range of the default domain.
  std::string range;
  /// The number of times that the range was entered.
  int64_t rangeInstances;
  std::string kernel;
  SpanSummary times;
};
} // namespace

/// Returns ":forward/norm" for a command, and "" for the work of none.
static std::string getRangePath(const RunProfile &profile, const runtime::TraceSpan &span) {
  const runtime::TracedCommand *command = profile.trace.FindCommand(span);
  if (!command)
    return "";
  std::string range = getRange(*command);
  return ":" + command->phase + (range == command->phase ? "" : "/" + range);
}

static std::vector<RangeKernelRow> getRangeKernelRows(const RunProfile &profile) {
  llvm::StringMap<int64_t> entered;
  std::string last;
  for (const runtime::TraceSpan &span : profile.trace.spans) {
    std::string range = getRangePath(profile, span);
    if (range != last)
      ++entered[range];
    last = range;
  }
  constexpr char separator = '\n';
  std::vector<RangeKernelRow> rows;
  for (SpanSummary &summary : runtime::SummarizeSpans(profile.trace, [&](const runtime::TraceSpan &span) {
         return getRangePath(profile, span) + separator + profile.trace.names[span.name];
       })) {
    auto [range, kernel] = llvm::StringRef(summary.key).split(separator);
    // Copies of inputs and outputs have no range.
    if (!range.empty())
      rows.push_back({range.str(), entered.lookup(range), kernel.str(), summary});
  }
  return rows;
}

/// Returns the columns of nsys' nvtx_kern_sum. Ranges of this process are on its main thread.
static std::vector<Column<RangeKernelRow>> getRangeKernelColumns() {
  using Row = RangeKernelRow;
  auto getInteger = [](int64_t SpanSummary::*member) {
    return [member](const Row &row) { return Cell::integer(row.times.*member); };
  };
  auto getNumber = [](double SpanSummary::*member) {
    return [member](const Row &row) { return Cell::number(row.times.*member, 1); };
  };
  auto getProcess = [](const Row &) { return Cell::integer(llvm::sys::Process::getProcessId()); };
  return {{"NVTX Range", "nvtx_range", [](const Row &row) { return Cell(row.range); }},
          {"Style", "style", [](const Row &) { return Cell(llvm::StringRef("PushPop")); }, Show::Wide},
          {"PID", "pid", getProcess, Show::Wide},
          {"TID", "tid", getProcess, Show::Wide},
          {"NVTX Inst", "nvtx_instances", [](const Row &row) { return Cell::integer(row.rangeInstances); }},
          {"Kern Inst", "instances", getInteger(&SpanSummary::instances)},
          {"Total Time (ns)", "total_ns", getInteger(&SpanSummary::total)},
          {"Avg (ns)", "avg_ns", getNumber(&SpanSummary::average)},
          {"Med (ns)", "med_ns", getNumber(&SpanSummary::median), Show::Wide},
          {"Min (ns)", "min_ns", getInteger(&SpanSummary::shortest), Show::Wide},
          {"Max (ns)", "max_ns", getInteger(&SpanSummary::longest), Show::Wide},
          {"StdDev (ns)", "stddev_ns", getNumber(&SpanSummary::standard_deviation), Show::Wide},
          {"Kernel Name", "name", [](const Row &row) { return Cell(row.kernel); }, Show::Text}};
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
    report.tables.push_back(makeRooflineTable(name + "-roofline", profile.trace, *ceilings, layout.numRows));
  ProfileFacts facts = computeProfileFacts(profile);
  appendLongest(report.notes, "most time", facts.longest);
  appendLongest(report.notes, "most time outside GEMMs", facts.longestOutsideGemms);
  if (!profile.note.empty())
    report.notes.push_back(profile.note);
}
