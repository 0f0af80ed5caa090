//===- KernelProfiler.h - Times of a GPU's kernels --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_KERNELPROFILER_H
#define CS336_RUNTIME_KERNELPROFILER_H

#include "cs336/runtime/Trace.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace cs336::runtime {

/// Times every kernel, copy and fill that this process runs on GPUs, also inside
/// of CUDA graphs, with CUPTI. Spans of a session's graphs name their command.
/// Only one profiler can exist at a time.
class KernelProfiler {
public:
  /// Creates a profiler, which is switched on: graphs that are instantiated after
  /// that can be timed. Must be called before the sessions to profile are created:
  /// graphs that were captured earlier have no commands, and may lack spans.
  /// Errors: NOT_FOUND if CUPTI cannot be loaded, ALREADY_EXISTS if the process has
  /// another profiler, FAILED_PRECONDITION if another tool (nsys, ncu) uses CUPTI.
  /// `library` is for tests.
  static absl::StatusOr<std::unique_ptr<KernelProfiler>> Create(const std::string &library = "libcupti.so.13");
  virtual ~KernelProfiler();

  /// Switches the profiler on unless it is on, and discards the spans so far.
  virtual absl::Status Start() = 0;
  /// Returns the number of spans that CUPTI has delivered since Start() or Take().
  virtual int64_t CountSpans() const = 0;
  /// Returns the spans since Start() or the last Take(). The caller must have
  /// waited for its work with Session::Synchronize(). Commands and names have the
  /// same positions in all traces of a profiler. Returns DATA_LOSS if CUPTI dropped
  /// records.
  virtual absl::StatusOr<Trace> Take() = 0;
  /// Returns what Take() returns, and switches the profiler off: until the next
  /// Start(), CUPTI records nothing.
  virtual absl::StatusOr<Trace> Stop() = 0;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_KERNELPROFILER_H
