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

/// A group of one, whose every collective is a copy: `copy(dst, src, bytes)`,
/// of blocks that do not overlap, wherever they lie.
std::unique_ptr<Communicator>
CreateSingleRankCommunicator(std::function<absl::Status(void *dst, const void *src, int64_t bytes)> copy);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_SINGLERANK_H
