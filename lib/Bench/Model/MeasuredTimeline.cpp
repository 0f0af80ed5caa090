//===- MeasuredTimeline.cpp - Memory over measured time -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/MeasuredTimeline.h"

#include "cs336/Bench/Profile/TraceSteps.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

using namespace cs336;
using namespace cs336::bench;

void MeasuredTimes::add(const runtime::Trace &part) {
  commands.clear();
  for (const runtime::TracedCommand &command : part.commands)
    if (command.entry == entry)
      commands[command.index] = command.name;
  for (const TraceStep &step : splitIntoSteps(part, entry)) {
    int64_t begin = getBegin(step);
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
