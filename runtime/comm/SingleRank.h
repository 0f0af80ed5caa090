//===- SingleRank.h - A communicator of one rank, by copies -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_SINGLERANK_H
#define CS336_RUNTIME_COMM_SINGLERANK_H

#include "cs336/runtime/Communicator.h"

#include "absl/status/status.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace cs336::runtime {

/// A group of one rank. Each collective is one `copy(dst, src, bytes)` of
/// blocks that do not overlap, in any memory.
std::unique_ptr<Communicator>
CreateSingleRankCommunicator(std::function<absl::Status(void *dst, const void *src, int64_t bytes)> copy);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_SINGLERANK_H
