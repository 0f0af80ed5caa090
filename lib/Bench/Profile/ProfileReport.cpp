//===- ProfileReport.cpp - Where the time of runs went, as rows -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileReport.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;
using runtime::KernelSummary;

std::string cs336::bench::describeTotal(const RunProfile &profile) {
  double seconds = 0;
  int64_t runs = 0;
  for (const RunProfile::Row &row : profile.getRows()) {
    seconds += row.seconds;
    runs += row.runs;
  }
  return llvm::formatv("{0:f3} ms in {1} runs", seconds * 1e3, runs);
}

static std::vector<Column<CommandSummary>> getCommandColumns(absl::Duration whole) {
  using Row = CommandSummary;
  auto getShare = [whole](const Row &row) {
    double share = whole > absl::ZeroDuration() ? absl::FDivDuration(row.total, whole) : 0;
    return Cell(llvm::formatv("{0:P1}", share).str(), share);
  };
  auto getMean = [](const Row &row) { return absl::ToDoubleMilliseconds(row.total) / static_cast<double>(row.runs); };
  return {
      {"share", "share", getShare},
      {"total (ms)", "total_ms", [](const Row &row) { return Cell::number(absl::ToDoubleMilliseconds(row.total), 3); }},
      {"mean (ms)", "mean_ms", [getMean](const Row &row) { return Cell::number(getMean(row), 4); }},
      {"runs", "runs", [](const Row &row) { return Cell::integer(row.runs); }},
      {"phase", "phase", [](const Row &row) { return Cell(row.phase); }},
      {"command", "command", [](const Row &row) { return Cell(row.name); }, Show::Text}};
}

static std::vector<Column<KernelSummary>> getKernelColumns() {
  using Row = KernelSummary;
  auto getInteger = [](int64_t Row::*member) {
    return [member](const Row &row) { return Cell::integer(row.*member); };
  };
  auto getNumber = [](double Row::*member) {
    return [member](const Row &row) { return Cell::number(row.*member, 1); };
  };
  return {{"Time (%)", "time_percent", [](const Row &row) { return Cell::number(100 * row.share, 1); }},
          {"Total Time (ns)", "total_ns", getInteger(&Row::total)},
          {"Instances", "instances", getInteger(&Row::instances)},
          {"Avg (ns)", "avg_ns", getNumber(&Row::average)},
          {"Med (ns)", "med_ns", getNumber(&Row::median), Show::OnRequest},
          {"Min (ns)", "min_ns", getInteger(&Row::shortest)},
          {"Max (ns)", "max_ns", getInteger(&Row::longest)},
          {"StdDev (ns)", "stddev_ns", getNumber(&Row::standard_deviation), Show::OnRequest},
          {"Name", "name", [](const Row &row) { return Cell(row.name); }, Show::Text}};
}

Table cs336::bench::makeProfileTable(std::string name, std::string title, const RunProfile &profile, size_t most) {
  if (profile.graphWork)
    return {std::move(name), std::move(title), getKernelColumns(), llvm::ArrayRef(profile.kernels).take_front(most)};
  absl::Duration whole;
  for (const CommandSummary &command : profile.commands)
    whole += command.total;
  return {std::move(name), std::move(title), getCommandColumns(whole),
          llvm::ArrayRef(profile.commands).take_front(most)};
}
