//===- MeasuredTimeline.cpp - Memory over measured time -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/MeasuredTimeline.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

using namespace cs336;
using namespace cs336::bench;

namespace {
/// Nanoseconds by the clock of the trace.
struct Interval {
  int64_t start = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();

  void add(const runtime::TraceSpan &span) {
    start = std::min(start, span.start_ns);
    end = std::max(end, span.start_ns + span.duration_ns);
  }
};

/// The commands of one step that ran, by position.
using Step = std::map<size_t, Interval>;
} // namespace

/// Returns the steps of an entry. The n-th run of a command, or of a node of its graph, belongs to the n-th step.
static std::vector<Step> splitIntoSteps(const runtime::Trace &trace, llvm::StringRef entry) {
  std::map<std::pair<int32_t, uint64_t>, size_t> runs;
  std::vector<Step> steps;
  for (const runtime::TraceSpan &span : trace.spans) {
    const runtime::TracedCommand *command = trace.FindCommand(span);
    if (!command || command->entry != entry)
      continue;
    size_t step = runs[{span.command, span.graph_node}]++;
    if (step == steps.size())
      steps.emplace_back();
    steps[step][static_cast<size_t>(command->index)].add(span);
  }
  return steps;
}

static absl::Status checkCommands(const MemoryTimeline &timeline, const runtime::Trace &trace, llvm::StringRef entry) {
  for (const runtime::TracedCommand &command : trace.commands) {
    auto index = static_cast<size_t>(command.index);
    if (command.entry == entry && (index >= timeline.commands.size() || timeline.commands[index].name != command.name))
      return absl::InternalError(absl::StrCat(
          "command ", command.index, " of entry '", command.entry, "' ran as '", command.name, "', and is planned as '",
          index < timeline.commands.size() ? timeline.commands[index].name : "none", "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryTimeline> cs336::bench::setMeasuredTimes(MemoryTimeline timeline, const runtime::Trace &trace,
                                                              llvm::StringRef entry, std::string device) {
  if (absl::Status status = checkCommands(timeline, trace, entry); !status.ok())
    return status;
  std::vector<Step> steps = splitIntoSteps(trace, entry);
  if (steps.empty())
    return absl::NotFoundError(absl::StrCat("the profile has no step of entry '", entry.str(), "'"));

  // The sums over all steps, in nanoseconds from the start of each.
  std::map<size_t, std::pair<double, double>> sums;
  std::map<size_t, int64_t> counts;
  for (const Step &step : steps) {
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (const auto &[position, interval] : step)
      begin = std::min(begin, interval.start);
    for (const auto &[position, interval] : step) {
      sums[position].first += static_cast<double>(interval.start - begin);
      sums[position].second += static_cast<double>(interval.end - begin);
      ++counts[position];
    }
  }
  double last = 0;
  for (auto [position, command] : llvm::enumerate(timeline.commands)) {
    auto found = sums.find(position);
    if (found == sums.end()) {
      command.start = command.end = last;
      continue;
    }
    double scale = 1e-9 / static_cast<double>(counts[position]);
    command.start = found->second.first * scale;
    command.end = found->second.second * scale;
    last = std::max(last, command.end);
  }
  timeline.device = std::move(device);
  timeline.isMeasured = true;
  return timeline;
}
