//===- StreamSequence.cpp - Commands of one run in their streams ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/StreamSequence.h"

#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"

#include <utility>

namespace cs336::runtime {

absl::StatusOr<StreamSequence> StreamSequence::Create(const CudaContext &context,
                                                      absl::Span<const std::unique_ptr<PreparedCommand>> commands,
                                                      absl::Span<const CommandInfo> infos) {
  std::vector<CUstream> streams, sides;
  for (const CommandInfo &info : infos) {
    CS336_ASSIGN_OR_RETURN(CUstream stream, context.NumberedStream(info.stream));
    streams.push_back(stream);
    if (info.stream != 0 && !absl::c_linear_search(sides, stream))
      sides.push_back(stream);
  }
  CS336_ASSIGN_OR_RETURN(StreamFork fork, StreamFork::Create(context, sides));
  return StreamSequence(context, commands, infos, std::move(streams), std::move(fork));
}

absl::Status StreamSequence::ForEach(absl::FunctionRef<absl::Status(size_t)> run) {
  return fork_.Run(fork_.size(), [&]() -> absl::Status {
    for (size_t i : order_) {
      StreamScope scope(*context_, streams_[i]);
      CS336_RETURN_IF_ERROR(run(i));
    }
    return absl::OkStatus();
  });
}

} // namespace cs336::runtime
