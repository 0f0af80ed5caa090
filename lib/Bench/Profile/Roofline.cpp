//===- Roofline.cpp - Rates of commands beside the device's ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/Roofline.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <tuple>

using namespace cs336;
using namespace cs336::bench;
using runtime::TracedCommand;

//===----------------------------------------------------------------------===//
// Ceilings
//===----------------------------------------------------------------------===//

/// Returns FLOP/s of a kind of arithmetic.
static absl::StatusOr<double> getRate(llvm::StringRef arithmetic, PeakRates &rates) {
  // It replaces a GEMM in float32 by three GEMMs in TF32.
  if (arithmetic == "tf32x3") {
    absl::StatusOr<double> rate = rates.get(BuildType::F32, ComputeType::TF32);
    return rate.ok() ? absl::StatusOr<double>(*rate / 3) : rate;
  }
  if (arithmetic == "f64")
    return rates.get(BuildType::F64, ComputeType::FP32);
  ComputeType type = arithmetic == "tf32"   ? ComputeType::TF32
                     : arithmetic == "bf16" ? ComputeType::BF16
                     : arithmetic == "f16"  ? ComputeType::FP16
                                            : ComputeType::FP32;
  return rates.get(BuildType::F32, type);
}

absl::StatusOr<Ceilings> cs336::bench::measureCeilings(const RunProfile &profile, PeakRates &rates) {
  Ceilings ceilings;
  absl::StatusOr<double> bytes = rates.getBandwidth();
  if (!bytes.ok())
    return bytes.status();
  ceilings.bytesPerSecond = *bytes;
  for (const TracedCommand &command : profile.getCommands()) {
    if (command.arithmetic.empty() || ceilings.flopsPerSecond.count(command.arithmetic))
      continue;
    absl::StatusOr<double> rate = getRate(command.arithmetic, rates);
    if (!rate.ok())
      return rate.status();
    ceilings.flopsPerSecond[command.arithmetic] = *rate;
  }
  return ceilings;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
struct CommandTime {
  int64_t nanoseconds = 0;
  /// Spans by graph node. A command on a GPU may be several kernels, each of which runs once per run.
  std::map<uint64_t, int64_t> spans;

  int64_t getRuns() const {
    int64_t most = 0;
    for (auto [node, count] : spans)
      most = std::max(most, count);
    return most;
  }
};
} // namespace

std::vector<RooflineRow> cs336::bench::computeRoofline(const RunProfile &profile, const Ceilings &ceilings) {
  std::vector<CommandTime> times(profile.getCommands().size());
  for (const RunProfile::Group &group : profile.getGroups()) {
    if (group.command == runtime::TraceSpan::kNoCommand)
      continue;
    times[group.command].nanoseconds += group.times.getTotal();
    times[group.command].spans[group.graphNode] += group.times.getInstances();
  }

  std::map<std::tuple<std::string, std::string, std::string>, RooflineRow> rows;
  for (auto [command, time] : llvm::zip(profile.getCommands(), times)) {
    auto runs = static_cast<double>(time.getRuns());
    if (runs == 0 || (command.flops == 0 && command.bytes == 0))
      continue;
    RooflineRow &row = rows[{command.name, command.phase, command.arithmetic}];
    row.command = command.name;
    row.phase = command.phase;
    row.arithmetic = command.arithmetic;
    row.runs += time.getRuns();
    row.seconds += static_cast<double>(time.nanoseconds) * 1e-9;
    row.flops += runs * command.flops;
    row.bytes += runs * command.bytes;
  }
  std::vector<RooflineRow> result;
  for (auto &[key, row] : rows) {
    auto rate = ceilings.flopsPerSecond.find(row.arithmetic);
    double compute = rate == ceilings.flopsPerSecond.end() ? 0 : row.flops / rate->second;
    double memory = row.bytes / ceilings.bytesPerSecond;
    row.leastSeconds = std::max(compute, memory);
    row.isBoundByArithmetic = compute > memory;
    result.push_back(std::move(row));
  }
  llvm::stable_sort(result, [](const RooflineRow &a, const RooflineRow &b) {
    return a.seconds - a.leastSeconds > b.seconds - b.leastSeconds;
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static std::string describeCeilings(const Ceilings &ceilings) {
  std::string text = llvm::formatv("rates beside those of a large copy ({0:f0} GB/s) and of large GEMMs (",
                                   ceilings.bytesPerSecond / 1e9);
  for (auto [index, rate] : llvm::enumerate(ceilings.flopsPerSecond))
    text += llvm::formatv("{0}{1} {2:f1} TFLOP/s", index == 0 ? "" : ", ", rate.first, rate.second / 1e12);
  return text + "); the most time above the bound comes first";
}

Table cs336::bench::makeRooflineTable(std::string name, const RunProfile &profile, const Ceilings &ceilings,
                                      size_t numRows) {
  using Row = RooflineRow;
  auto makeNumber = [](std::string title, std::string key, int digits, double (*get)(const Row &)) {
    return Column<Row>(std::move(title), std::move(key),
                       [=](const Row &row) { return Cell::number(get(row), digits); });
  };
  std::vector<Column<Row>> columns = {
      makeNumber("lost (ms)", "lost_ms", 3, [](const Row &row) { return (row.seconds - row.leastSeconds) * 1e3; }),
      makeNumber("time (ms)", "time_ms", 3, [](const Row &row) { return row.seconds * 1e3; }),
      {"runs", "runs", [](const Row &row) { return Cell::integer(row.runs); }},
      makeNumber("GB/s", "gb_s", 1, [](const Row &row) { return row.bytes / row.seconds / 1e9; }),
      makeNumber("TFLOP/s", "tflops", 3, [](const Row &row) { return row.flops / row.seconds / 1e12; }),
      {"bound", "bound", [](const Row &row) { return Cell(row.isBoundByArithmetic ? row.arithmetic : "memory"); }},
      makeNumber("of it (%)", "bound_percent", 1, [](const Row &row) { return 100 * row.leastSeconds / row.seconds; }),
      {"phase", "phase", [](const Row &row) { return Cell(row.phase); }},
      {"command", "command", [](const Row &row) { return Cell(row.command); }, Show::Text}};
  std::vector<Row> rows = computeRoofline(profile, ceilings);
  return {std::move(name), describeCeilings(ceilings), columns, llvm::ArrayRef(rows).take_front(numRows)};
}
