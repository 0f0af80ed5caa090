//===- StreamSequence.h - Commands of one run in their streams --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_STREAMSEQUENCE_H
#define CS336_RUNTIME_DEVICE_CUDA_STREAMSEQUENCE_H

#include "cs336/runtime/CommandInfo.h"
#include "cs336/runtime/Device.h"
#include "device/cuda/CudaContext.h"
#include "device/cuda/EnqueueOrder.h"
#include "device/cuda/StreamFork.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cs336::runtime {

/// The commands of one entry, each with its stream. Other streams than the main
/// one begin after the main stream's work so far, and the main stream goes on
/// after the work of all streams.
class StreamSequence {
public:
  /// The arguments must outlive the sequence.
  static absl::StatusOr<StreamSequence> Create(const CudaContext &context,
                                               absl::Span<const std::unique_ptr<PreparedCommand>> commands,
                                               absl::Span<const CommandInfo> infos);

  /// Calls `run` with each command's position, in the order of
  /// OrderForEnqueue(), in a scope of the command's stream. Stops at the first
  /// error.
  absl::Status ForEach(absl::FunctionRef<absl::Status(size_t)> run);

  absl::Span<const std::unique_ptr<PreparedCommand>> commands() const { return commands_; }
  absl::Span<const CommandInfo> infos() const { return infos_; }

private:
  StreamSequence(const CudaContext &context, absl::Span<const std::unique_ptr<PreparedCommand>> commands,
                 absl::Span<const CommandInfo> infos, std::vector<CUstream> streams, StreamFork fork)
      : context_(&context), commands_(commands), infos_(infos), streams_(std::move(streams)),
        order_(OrderForEnqueue(infos)), fork_(std::move(fork)) {}

  const CudaContext *context_;
  absl::Span<const std::unique_ptr<PreparedCommand>> commands_;
  absl::Span<const CommandInfo> infos_;
  std::vector<CUstream> streams_; // The stream of each command.
  std::vector<size_t> order_;
  StreamFork fork_; // The other streams than the main one.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_STREAMSEQUENCE_H
