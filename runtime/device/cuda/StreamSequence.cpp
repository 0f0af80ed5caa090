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
  StreamSequence sequence(context, commands, infos);
  for (const CommandInfo &info : infos) {
    CS336_ASSIGN_OR_RETURN(CUstream stream, context.NumberedStream(info.stream));
    sequence.streams_.push_back(stream);
    auto is_known = [&](const Side &side) { return side.stream == stream; };
    if (info.stream == 0 || absl::c_any_of(sequence.sides_, is_known))
      continue;
    CS336_ASSIGN_OR_RETURN(CudaEvent end, CudaEvent::Create(context));
    sequence.sides_.push_back({stream, std::move(end)});
  }
  if (!sequence.sides_.empty()) {
    CS336_ASSIGN_OR_RETURN(sequence.begin_, CudaEvent::Create(context));
  }
  return sequence;
}

absl::Status StreamSequence::ForEach(absl::FunctionRef<absl::Status(size_t)> run) {
  CUstream main = context_->stream();
  if (!sides_.empty())
    CS336_RETURN_IF_ERROR(begin_.Record(main));
  for (const Side &side : sides_)
    CS336_RETURN_IF_ERROR(begin_.Block(side.stream));
  absl::Status status;
  for (size_t i = 0; i != commands_.size() && status.ok(); ++i) {
    StreamScope scope(*context_, streams_[i]);
    status = run(i);
  }
  // A capture must end with all streams joined, also after an error.
  for (Side &side : sides_) {
    status.Update(side.end.Record(side.stream));
    status.Update(side.end.Block(main));
  }
  return status;
}

} // namespace cs336::runtime
