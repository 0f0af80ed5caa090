//===- CommandList.h - Commands one by one    -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H
#define CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H

#include "cs336/runtime/Device.h"
#include "device/cuda/StreamSequence.h"
#include "profile/NvtxRanges.h"

#include <utility>

namespace cs336::runtime {

/// Launches commands one by one in their streams, with NVTX ranges around them.
/// The ranges are closed when the last command has been launched, and on an
/// error, which names the command.
class CommandList : public PreparedCommand {
public:
  /// `begin` is recorded before the commands, `end` after them. The references must stay valid.
  CommandList(const CudaContext &context, StreamSequence sequence, CudaEvent &begin, CudaEvent &end)
      : context_(context), sequence_(std::move(sequence)), begin_(begin), end_(end) {}

  absl::Status Execute() override;

private:
  const CudaContext &context_;
  StreamSequence sequence_;
  CudaEvent &begin_, &end_;
  NvtxRanges ranges_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H
