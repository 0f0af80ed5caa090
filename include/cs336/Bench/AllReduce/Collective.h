//===- Collective.h - Collectives that are measured -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_COLLECTIVE_H
#define CS336_BENCH_ALLREDUCE_COLLECTIVE_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/Tensor.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <cstdint>

namespace cs336::bench {

/// The kinds of `cs336.collective`.
enum class Collective : uint8_t { AllReduce, AllGather, ReduceScatter, Broadcast, AllToAll };

/// Returns whether the collective reduces elements.
bool isReducing(Collective collective);
/// Returns whether the collective writes its result over its operand. The others have a separate result.
bool isInPlace(Collective collective);

/// One collective of a plan.
struct CollectiveCase {
  Collective collective = Collective::AllReduce;
  runtime::DType dtype = runtime::DType::kF32;
  /// kSum for collectives that do not reduce.
  runtime::Reduction reduction = runtime::Reduction::kSum;
  /// Elements of all parts together, as in nccl-tests: the elements of the operand or of the result, whichever is
  /// larger. A multiple of the number of ranks, unless the collective is an all-reduce or a broadcast.
  int64_t count = 0;

  bool operator==(const CollectiveCase &) const = default;

  int64_t getBytes() const { return count * runtime::ByteSize(dtype); }
  /// Returns the elements of one rank's operand and of its result.
  int64_t getSourceCount(int ranks) const;
  int64_t getTargetCount(int ranks) const;
};

/// Returns the bus bandwidth divided by the algorithm bandwidth, as nccl-tests define it: the smallest part of the
/// bytes that each link must carry.
double getBusFactor(Collective collective, int ranks);

/// Returns the operand of a rank. Its values repeat with a period of three; sums of them are exact in every type.
absl::StatusOr<runtime::Tensor> makeSource(const CollectiveCase &one, int rank, int ranks);
/// Returns the number of elements that differ from the result of the collective on the `makeSource` of all ranks.
absl::StatusOr<int64_t> countWrong(const CollectiveCase &one, const runtime::Tensor &result, int rank, int ranks);

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_COLLECTIVE_H
