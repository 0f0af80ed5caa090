//===- TraceBuilder.cpp - A trace as it is recorded -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "profile/TraceBuilder.h"

#include <algorithm>

namespace cs336::runtime {

/// Returns true if commands of the same entry and index are also of the same program, as far as a trace can show.
static bool IsSame(const TracedCommand &a, const CommandInfo &b) {
  return a.name == b.name && a.source == b.source && a.kind == b.kind && a.location == b.location &&
         a.phase == b.phase && a.stream == b.stream && a.flops == b.flops && a.bytes == b.bytes &&
         a.live_bytes == b.live_bytes && a.arithmetic == b.arithmetic;
}

int32_t TraceBuilder::AddCommand(const CommandInfo &command) {
  std::vector<int32_t> &known = commands_[{std::string(command.entry), command.index}];
  for (int32_t position : known)
    if (IsSame(trace_.commands[position], command))
      return position;
  known.push_back(static_cast<int32_t>(trace_.commands.size()));
  trace_.commands.emplace_back(command);
  return known.back();
}

void TraceBuilder::AddSpan(absl::string_view name, TraceSpan span) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    found = names_.emplace(name, static_cast<uint32_t>(trace_.names.size())).first;
    trace_.names.emplace_back(name);
  }
  span.name = found->second;
  trace_.spans.push_back(span);
}

Trace TraceBuilder::Take() {
  Trace taken = std::move(trace_);
  std::stable_sort(taken.spans.begin(), taken.spans.end(),
                   [](const TraceSpan &a, const TraceSpan &b) { return a.start_ns < b.start_ns; });
  trace_ = {taken.commands, taken.names, {}};
  return taken;
}

} // namespace cs336::runtime
