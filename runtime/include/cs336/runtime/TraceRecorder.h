//===- TraceRecorder.h - A trace of commands --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_TRACERECORDER_H
#define CS336_RUNTIME_TRACERECORDER_H

#include "cs336/runtime/RunObserver.h"
#include "cs336/runtime/Trace.h"

#include <memory>

namespace cs336::runtime {

class TraceBuilder;

/// Records each command of the observed runs as a span, on any device. The runs may be of several entries.
class TraceRecorder : public RunObserver {
public:
  TraceRecorder();
  ~TraceRecorder() override;

  bool Reads(const CommandInfo &command, absl::string_view tensor) const override { return false; }
  absl::Status OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                             absl::Span<const WrittenTensor> written) override;

  /// Returns the number of spans since the last call of Take().
  int64_t CountSpans() const;
  /// Returns the trace since the last call. It has the commands and names of earlier traces at the same positions.
  Trace Take();

private:
  std::unique_ptr<TraceBuilder> builder_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_TRACERECORDER_H
