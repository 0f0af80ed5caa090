//===- KernelProfiler.h - Times of a GPU's kernels --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_KERNELPROFILER_H
#define CS336_RUNTIME_KERNELPROFILER_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

/// One run of a kernel, a copy or a fill on a GPU.
struct KernelRecord {
  std::string name; // Demangled, without parameters; "[CUDA memcpy Device-to-Device]", "[CUDA memset]".
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t graph_node = 0; // 0 outside of graphs.
};

/// Times every kernel, copy and fill that this process runs on GPUs, also inside
/// of CUDA graphs, with CUPTI. Only one profiler can exist at a time.
class KernelProfiler {
public:
  /// Creates a profiler. Must be called before the sessions to profile are
  /// created: records of graphs that were captured earlier may be missing.
  /// Returns NOT_FOUND if there is no CUPTI, FAILED_PRECONDITION if there is a
  /// profiler already or another tool (nsys, ncu) uses CUPTI. `library` is for
  /// tests.
  static absl::StatusOr<std::unique_ptr<KernelProfiler>> Create(const std::string &library = "libcupti.so.13");
  virtual ~KernelProfiler();

  /// Discards the records so far.
  virtual absl::Status Start() = 0;
  /// Returns the records since Start(), in order of start times. The caller must
  /// have waited for its work with Session::Synchronize(). Returns DATA_LOSS if
  /// CUPTI dropped records.
  virtual absl::StatusOr<std::vector<KernelRecord>> Stop() = 0;
};

/// All runs of one kernel, in nanoseconds.
struct KernelSummary {
  std::string name;
  double share = 0; // The share of the total time of all kernels.
  int64_t total = 0;
  int64_t instances = 0;
  double average = 0, median = 0;
  int64_t shortest = 0, longest = 0;
  double standard_deviation = 0; // Sample standard deviation; 0 for a single run.
};

/// Returns one summary per name, sorted by decreasing total time.
std::vector<KernelSummary> SummarizeKernels(absl::Span<const KernelRecord> records);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_KERNELPROFILER_H
