//===- Trace.h - What a device ran, and when --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TRACE_H
#define CS336_RUNTIME_TRACE_H

#include "cs336/runtime/CommandInfo.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::runtime {

/// A CommandInfo with text of its own, so that a trace may outlive the executable.
struct TracedCommand {
  TracedCommand() = default;
  explicit TracedCommand(const CommandInfo &info);

  int64_t index = 0;
  int64_t stream = 0; // The stream of the program that runs it.
  std::string entry, name, source, layer, phase, kind, location;
  double flops = 0, bytes = 0;
  int64_t live_bytes = 0;
  std::string arithmetic;
};

/// One run of a command on the CPU; of a kernel, a copy or a fill on a GPU. A command on a GPU may run several kernels.
struct TraceSpan {
  static constexpr int32_t kNoCommand = -1;

  int64_t start_ns = 0; // All spans of a trace share a clock.
  int64_t duration_ns = 0;
  uint32_t name = 0;            // Position in Trace::names.
  int32_t command = kNoCommand; // Position in Trace::commands. kNoCommand: feeds inputs or reads outputs.
  uint32_t stream = 0;
  uint64_t graph_node = 0; // 0 outside of CUDA graphs.
};

/// The commands, kernels, copies and fills that a device ran between two points in time.
struct Trace {
  std::vector<TracedCommand> commands;
  /// "gemm_q_proj" on the CPU. On a GPU: the kernel's name, demangled, without parameters, such as "attention_0e35";
  /// "[CUDA memcpy Device-to-Device]", "[CUDA memset]".
  std::vector<std::string> names;
  /// In order of starts.
  std::vector<TraceSpan> spans;

  /// Returns the span's command, or null.
  const TracedCommand *FindCommand(const TraceSpan &span) const;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TRACE_H
