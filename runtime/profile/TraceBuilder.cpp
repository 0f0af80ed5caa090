//===- TraceBuilder.cpp - A trace as it is recorded -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "profile/TraceBuilder.h"

#include <algorithm>

namespace cs336::runtime {

int32_t TraceBuilder::AddCommand(const CommandInfo &command) {
  auto [found, is_new] =
      commands_.try_emplace({std::string(command.entry), command.index}, static_cast<int32_t>(trace_.commands.size()));
  if (is_new)
    trace_.commands.emplace_back(command);
  return found->second;
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
