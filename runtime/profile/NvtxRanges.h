//===- NvtxRanges.h - The model's parts for Nsight --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PROFILE_NVTXRANGES_H
#define CS336_RUNTIME_PROFILE_NVTXRANGES_H

#include "cs336/runtime/CommandInfo.h"

#include <string>
#include <vector>

struct nvtxDomainRegistration_st;

namespace cs336::runtime {

/// Nested NVTX ranges of the domain "cs336" around the commands that a thread
/// launches: the entry, the phase, the layer, the operation. Parts that follow
/// each other share the ranges that have the same names. If no tool has loaded
/// its NVTX library into this process, nothing is done.
class NvtxRanges {
public:
  NvtxRanges();
  /// Closes all ranges.
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges &) = delete;
  NvtxRanges &operator=(const NvtxRanges &) = delete;

  /// Closes the ranges that `command` is not in, and opens those that it is in.
  void Enter(const CommandInfo &command);
  /// Closes all ranges. Called on the thread that opened them.
  void Close() { CloseTo(0); }

private:
  void CloseTo(size_t depth);

  nvtxDomainRegistration_st *domain_; // Null without a tool.
  std::vector<std::string> open_;     // The outermost first.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PROFILE_NVTXRANGES_H
