//===- CommandList.h - Commands in one stream -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H
#define CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H

#include "cs336/runtime/Device.h"
#include "profile/NvtxRanges.h"

#include "absl/types/span.h"

namespace cs336::runtime {

/// Launches commands one by one on the stream, with NVTX ranges around them. The
/// ranges are closed when the last command has been launched, and on an error,
/// which names the command.
class CommandList : public PreparedCommand {
public:
  /// The commands and their descriptions, in the same order, must outlive this
  /// object.
  CommandList(absl::Span<const std::unique_ptr<PreparedCommand>> commands, absl::Span<const CommandInfo> infos)
      : commands_(commands), infos_(infos) {}

  absl::Status Execute() override;

private:
  absl::Span<const std::unique_ptr<PreparedCommand>> commands_;
  absl::Span<const CommandInfo> infos_;
  NvtxRanges ranges_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_COMMANDLIST_H
