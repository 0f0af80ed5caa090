//===- StreamFork.h - Work in several streams at a time ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_STREAMFORK_H
#define CS336_RUNTIME_DEVICE_CUDA_STREAMFORK_H

#include "device/cuda/CudaContext.h"
#include "device/cuda/CudaEvent.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cuda.h>
#include <vector>

namespace cs336::runtime {

/// Side streams, which run work beside the current stream of a context. If the
/// current stream is captured, their work becomes branches of its graph.
class StreamFork {
public:
  /// Creates the events that order the streams. `sides` are distinct, and none
  /// of them is the current stream when Run() is called. The context must outlive
  /// the fork.
  static absl::StatusOr<StreamFork> Create(const CudaContext &context, absl::Span<const CUstream> sides);

  /// Calls `enqueue`, which may enqueue work in the current stream and in the
  /// first `count` side streams. These begin after the current stream's work so
  /// far, and the current stream goes on after their work. The streams are joined
  /// after an error, too: otherwise a capture could not end. Returns the first
  /// error. Allocates nothing.
  absl::Status Run(size_t count, absl::FunctionRef<absl::Status()> enqueue);
  /// As Run(), but the side streams do not wait for the current stream: their work follows what they ran last. All of
  /// them were side streams of an earlier run of the same capture.
  absl::Status Continue(size_t count, absl::FunctionRef<absl::Status()> enqueue);

  size_t size() const { return sides_.size(); }
  CUstream side(size_t index) const { return sides_[index].stream; }

private:
  /// A side stream, and the end of its work.
  struct Side {
    CUstream stream;
    CudaEvent end;
  };

  explicit StreamFork(const CudaContext &context) : context_(&context) {}
  /// Lets the current stream wait for the first `count` side streams. Returns the first error, which may be `status`.
  absl::Status Join(size_t count, absl::Status status);

  const CudaContext *context_;
  CudaEvent begin_;
  std::vector<Side> sides_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_STREAMFORK_H
