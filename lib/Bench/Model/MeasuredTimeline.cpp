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

void MeasuredTimes::add(const runtime::Trace &part) {
  commands.clear();
  for (const runtime::TracedCommand &command : part.commands)
    if (command.entry == entry)
      commands[command.index] = command.name;
  for (const Step &step : splitIntoSteps(part, entry)) {
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (const auto &[position, interval] : step)
      begin = std::min(begin, interval.start);
    for (const auto &[position, interval] : step) {
      Sums &sum = sums[position];
      sum.start += static_cast<double>(interval.start - begin);
      sum.end += static_cast<double>(interval.end - begin);
      ++sum.count;
    }
  }
}

absl::Status MeasuredTimes::check(const MemoryTimeline &timeline) const {
  for (const auto &[index, name] : commands) {
    bool isPlanned = static_cast<size_t>(index) < timeline.commands.size();
    std::string planned = isPlanned ? timeline.commands[index].name : "none";
    if (planned != name)
      return absl::InternalError(absl::StrCat("command ", index, " of entry '", entry, "' ran as '", name,
                                              "', and is planned as '", planned, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryTimeline> MeasuredTimes::apply(MemoryTimeline timeline, std::string device) const {
  if (absl::Status status = check(timeline); !status.ok())
    return status;
  if (sums.empty())
    return absl::NotFoundError(absl::StrCat("the profile has no step of entry '", entry, "'"));
  double last = 0;
  for (auto [position, command] : llvm::enumerate(timeline.commands)) {
    auto found = sums.find(position);
    if (found == sums.end()) {
      command.start = command.end = last;
      continue;
    }
    double scale = 1e-9 / static_cast<double>(found->second.count);
    command.start = found->second.start * scale;
    command.end = found->second.end * scale;
    last = std::max(last, command.end);
  }
  timeline.device = std::move(device);
  timeline.isMeasured = true;
  return timeline;
}
