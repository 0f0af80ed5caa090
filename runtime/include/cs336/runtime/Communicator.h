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
#include <functional>
#include <memory>
#include <vector>

namespace cs336::runtime {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin };

/// One rank's end of a group. Every rank calls the same collectives in the same
/// order with the same counts; otherwise all ranks get an error. `src` and `dst`
/// are dense. They may be the same block if their sizes agree, and must not
/// overlap otherwise. Reductions combine the ranks in order, so every rank gets
/// the same bits. They sum bf16 and f16 in f32, round integer means toward zero,
/// and do not support i1.
///
/// Errors: INVALID_ARGUMENT for calls that do not match, UNAVAILABLE if a rank
/// has left, DEADLINE_EXCEEDED if a rank does not call in time. Each names the
/// rank.
class Communicator {
public:
  virtual ~Communicator();

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Reduces `count` elements of each rank. Every rank gets the result.
  virtual absl::Status AllReduce(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) = 0;
  /// Gathers `count` elements from each rank. `dst` holds size() · `count`
  /// elements, in the order of ranks.
  virtual absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) = 0;
  /// Reduces size() parts of `count` elements. `dst` gets this rank's part.
  virtual absl::Status ReduceScatter(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) = 0;
  /// Copies the root's `src` to `dst` of every rank. Does not read `src` of the
  /// other ranks.
  virtual absl::Status Broadcast(const void *src, void *dst, int64_t count, DType dtype, int root) = 0;
  /// Exchanges parts of `count` elements. `src` and `dst` hold size() parts and
  /// must not overlap. Part p of rank r's `dst` is part r of rank p's `src`.
  virtual absl::Status AllToAll(const void *src, void *dst, int64_t count, DType dtype) = 0;

  /// Compares the programs of all ranks by their hashes. Returns
  /// FAILED_PRECONDITION on every rank, with the rank that differs, unless all
  /// are equal.
  virtual absl::Status CompareProgram(uint64_t hash) = 0;

  /// Returns the time in which all ranks end after a fault of one. A rank waits for the others for three fifths of it.
  virtual absl::Duration timeout() const = 0;
  /// Calls `handler` with the failure of the group, once, on any thread: when a
  /// rank fails, leaves or is silent. Calls it at once if the group has failed.
  /// Null removes the handler; it does not run after that. The handler must not
  /// call this communicator.
  virtual void OnFailure(std::function<void(const absl::Status &)> handler) = 0;
  /// Ends the group with this failure of the caller's rank, unless it has ended.
  /// Every rank gets the first failure.
  virtual void Fail(const absl::Status &failure) = 0;
  /// Notes how many collectives this rank has begun on its device. If a rank waits too long, the failure of the group
  /// names the ranks that have begun fewer collectives than others.
  virtual void NoteProgress(int64_t collectives) = 0;
};

/// Creates a group of one rank.
std::unique_ptr<Communicator> CreateSingleProcessCommunicator();

/// Creates a group whose ranks are threads of this process. Each thread uses one of the returned ends. A rank waits at
/// most three fifths of `timeout` for the others.
std::vector<std::unique_ptr<Communicator>> CreateInProcessGroup(int size, absl::Duration timeout = absl::Minutes(5));

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMMUNICATOR_H
