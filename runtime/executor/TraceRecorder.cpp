//===- TraceRecorder.cpp - A trace of commands ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/TraceRecorder.h"

#include "profile/TraceBuilder.h"

#include "absl/time/clock.h"

namespace cs336::runtime {

TraceRecorder::TraceRecorder() : builder_(std::make_unique<TraceBuilder>()) {}
TraceRecorder::~TraceRecorder() = default;

absl::Status TraceRecorder::OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                                          absl::Span<const WrittenTensor> written) {
  int64_t duration = absl::ToInt64Nanoseconds(elapsed);
  builder_->AddSpan(command.name, {.start_ns = absl::GetCurrentTimeNanos() - duration,
                                   .duration_ns = duration,
                                   .command = builder_->AddCommand(command)});
  return absl::OkStatus();
}

int64_t TraceRecorder::CountSpans() const { return builder_->CountSpans(); }

Trace TraceRecorder::Take() { return builder_->Take(); }

} // namespace cs336::runtime
