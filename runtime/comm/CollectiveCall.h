//===- CollectiveCall.h - What ranks must call alike ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_COLLECTIVECALL_H
#define CS336_RUNTIME_COMM_COLLECTIVECALL_H

#include "cs336/runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>

namespace cs336::runtime {

enum class CollectiveOperation : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kCompareProgram
};

/// The collective that a rank calls. All ranks must call the same one.
struct CollectiveCall {
  CollectiveOperation operation;
  DType dtype;
  Reduction reduction;
  int root;
  int64_t count;

  friend bool operator==(const CollectiveCall &, const CollectiveCall &) = default;
};

/// Compares the calls of all ranks, in their order. Returns INVALID_ARGUMENT if
/// they differ, or if the type cannot be reduced.
absl::Status CheckCalls(absl::Span<const CollectiveCall> calls);

/// Compares the hashes of the ranks' programs with the most frequent one.
/// Returns FAILED_PRECONDITION with the first rank that differs.
absl::Status ComparePrograms(absl::Span<const uint64_t> programs);

/// Returns DEADLINE_EXCEEDED with the ranks that have begun the fewest
/// collectives, unless all have begun equally many. Returns other failures as they are.
absl::Status NameRanksBehind(const absl::Status &failure, absl::Span<const int64_t> begun);

/// Returns the failure with the rank in front.
absl::Status NameRank(int rank, const absl::Status &failure);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_COLLECTIVECALL_H
