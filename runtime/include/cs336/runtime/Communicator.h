//===- Communicator.h - Collectives between ranks ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMMUNICATOR_H
#define CS336_RUNTIME_COMMUNICATOR_H

#include "cs336/runtime/DType.h"

#include "absl/status/status.h"
#include "absl/time/time.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace cs336::runtime {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin };

/// One rank's end of a group. Every rank calls the same collectives in the same
/// order with the same counts; a rank that does otherwise gives all of them an
/// error. `src` and `dst` are dense; they may be the same block where their
/// sizes agree, and do not overlap otherwise. Reductions take the ranks in
/// order, so every rank gets the same bits; bf16 and f16 add up in f32, integer
/// means round toward zero, and i1 cannot be reduced.
///
/// Errors: INVALID_ARGUMENT for calls that do not match, UNAVAILABLE when a
/// rank has left, DEADLINE_EXCEEDED when one does not come.
class Communicator {
public:
  virtual ~Communicator();

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// `count` elements each.
  virtual absl::Status AllReduce(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) = 0;
  /// `count` elements from each rank; `dst` holds size() times as many, in the
  /// order of ranks.
  virtual absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) = 0;
  /// `src` holds size() parts of `count` elements; `dst` gets this rank's.
  virtual absl::Status ReduceScatter(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) = 0;
  /// `dst` of every rank gets the root's `src`; other ranks' is not read.
  virtual absl::Status Broadcast(const void *src, void *dst, int64_t count, DType dtype, int root) = 0;
};

/// A group of one.
std::unique_ptr<Communicator> CreateSingleProcessCommunicator();

/// A group whose ranks are threads of this process, each to use one of the
/// returned ends. `timeout` is how long a rank waits for the others.
std::vector<std::unique_ptr<Communicator>> CreateInProcessGroup(int size, absl::Duration timeout = absl::Minutes(5));

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMMUNICATOR_H
