//===- KernelProfiler.h - When each kernel of a GPU ran ---------*- C++ -*-===//
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

/// A kernel, a copy or a fill that a GPU ran.
struct KernelRecord {
  std::string name; // Demangled, without parameters; "[CUDA memcpy Device-to-Device]", "[CUDA memset]".
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t graph_node = 0; // 0 outside of graphs.
};

/// Times everything that this process runs on GPUs, by CUPTI, kernel by kernel
/// also inside of CUDA graphs. One can exist at a time.
class KernelProfiler {
public:
  /// Before the sessions that are to be profiled: what captured its graphs
  /// earlier may be missing. NOT_FOUND if there is no CUPTI,
  /// FAILED_PRECONDITION if there is a profiler already, or another tool (nsys,
  /// ncu) has CUPTI. `library` is for tests.
  static absl::StatusOr<std::unique_ptr<KernelProfiler>> Create(const std::string &library = "libcupti.so.13");
  virtual ~KernelProfiler();

  /// Forgets what ran so far.
  virtual absl::Status Start() = 0;
  /// What ran since, in order of start. The caller has waited for its work to
  /// end: Session::Synchronize(). DATA_LOSS if CUPTI dropped records.
  virtual absl::StatusOr<std::vector<KernelRecord>> Stop() = 0;
};

/// All runs of one kernel, in nanoseconds.
struct KernelSummary {
  std::string name;
  double share = 0; // Of the time of all.
  int64_t total = 0;
  int64_t instances = 0;
  double average = 0, median = 0;
  int64_t shortest = 0, longest = 0;
  double standard_deviation = 0; // Of a sample; 0 for a single run.
};

/// One for each name, the most time first.
std::vector<KernelSummary> SummarizeKernels(absl::Span<const KernelRecord> records);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_KERNELPROFILER_H
