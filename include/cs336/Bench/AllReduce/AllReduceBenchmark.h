//===- AllReduceBenchmark.h - Times of all-reduces --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H
#define CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H

#include "cs336/runtime/Communicator.h"
#include "llvm/ADT/ArrayRef.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <vector>

namespace cs336::bench {

/// The way in which ranks exchange data.
enum class Backend : uint8_t { Tcp, Threads };

/// The all-reduces that every group measures.
struct AllReducePlan {
  /// Bytes of one rank's block, each rounded down to whole elements.
  std::vector<int64_t> sizes;
  std::vector<runtime::DType> dtypes;
  std::vector<runtime::Reduction> reductions;
  int64_t warmup, steps;
};

/// All-reduces of one size, type and reduction, in place.
struct AllReduceTimes {
  int64_t count; // Elements of one rank's block.
  runtime::DType dtype;
  runtime::Reduction reduction;
  /// Milliseconds of each step, on rank 0.
  std::vector<double> milliseconds;
  /// Elements with a wrong value, over all ranks.
  int64_t wrong;

  int64_t getBytes() const { return count * runtime::ByteSize(dtype); }
};

/// Runs the plan as one rank. All ranks of the group call it. Returns the results on rank 0, and those of other ranks
/// without times. RESOURCE_EXHAUSTED if a block does not fit into memory.
absl::StatusOr<std::vector<AllReduceTimes>> measureAllReduces(runtime::Communicator &communicator,
                                                              const AllReducePlan &plan);

/// Runs the plan on threads of this process, and returns the results of rank 0. `startup` gets the milliseconds until
/// the group exists.
absl::StatusOr<std::vector<AllReduceTimes>> measureOnThreads(int ranks, absl::Duration timeout,
                                                             const AllReducePlan &plan, double &startup);

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_ALLREDUCEBENCHMARK_H
