//===- StreamFork.cpp - Work in several streams at a time -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/StreamFork.h"

#include "status/StatusMacros.h"

#include <utility>

namespace cs336::runtime {

absl::StatusOr<StreamFork> StreamFork::Create(const CudaContext &context, absl::Span<const CUstream> sides) {
  StreamFork fork(context);
  for (CUstream stream : sides) {
    CS336_ASSIGN_OR_RETURN(CudaEvent end, CudaEvent::Create(context));
    fork.sides_.push_back({stream, std::move(end)});
  }
  if (!sides.empty()) {
    CS336_ASSIGN_OR_RETURN(fork.begin_, CudaEvent::Create(context));
  }
  return fork;
}

absl::Status StreamFork::Run(size_t count, absl::FunctionRef<absl::Status()> enqueue) {
  if (count == 0)
    return enqueue();
  CS336_RETURN_IF_ERROR(begin_.Record(context_->stream()));
  absl::Status status;
  size_t begun = 0;
  for (; begun != count && status.ok(); begun += status.ok())
    status = begin_.Block(sides_[begun].stream);
  if (status.ok())
    status = enqueue();
  return Join(begun, status);
}

absl::Status StreamFork::Continue(size_t count, absl::FunctionRef<absl::Status()> enqueue) {
  return Join(count, enqueue());
}

absl::Status StreamFork::Join(size_t count, absl::Status status) {
  for (Side &side : absl::MakeSpan(sides_).first(count)) {
    absl::Status joined = side.end.Record(side.stream);
    if (joined.ok())
      joined = side.end.Block(context_->stream());
    status.Update(joined);
  }
  return status;
}

} // namespace cs336::runtime
