//===- TraceBuilder.h - A trace as it is recorded ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PROFILE_TRACEBUILDER_H
#define CS336_RUNTIME_PROFILE_TRACEBUILDER_H

#include "cs336/runtime/Trace.h"

#include "absl/strings/string_view.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cs336::runtime {

/// Collects spans, and stores each command and each name once.
class TraceBuilder {
public:
  /// Returns the command's position in Trace::commands.
  int32_t AddCommand(const CommandInfo &command);
  /// Adds a span with that name; its `name` is set here.
  void AddSpan(absl::string_view name, TraceSpan span);

  /// Returns the number of spans so far.
  int64_t CountSpans() const { return static_cast<int64_t>(trace_.spans.size()); }
  /// Returns the trace so far, with its spans in order of starts, and begins a new one. The new trace has the same
  /// commands and names at the same positions.
  Trace Take();

private:
  Trace trace_;
  /// Positions of commands by entry and index: several if sessions run different programs.
  std::map<std::pair<std::string, int64_t>, std::vector<int32_t>> commands_;
  std::map<std::string, uint32_t, std::less<>> names_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PROFILE_TRACEBUILDER_H
