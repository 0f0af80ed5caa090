//===- EnqueueOrder.h - The order of commands of several streams *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_ENQUEUEORDER_H
#define CS336_RUNTIME_DEVICE_CUDA_ENQUEUEORDER_H

#include "cs336/runtime/CommandInfo.h"

#include "absl/types/span.h"

#include <cstddef>
#include <vector>

namespace cs336::runtime {

/// Returns the positions of an entry's commands in the order in which they are enqueued. The commands of a stream stay
/// in order, as do records of an event and waits for it. Commands of the main stream are enqueued as early as that
/// allows, and commands of a side stream when no command of an earlier stream can be.
///
/// The order does not change what a run computes, but which branches a CUDA graph gets, and branches share a few queues
/// of the device. If gathers are enqueued first, the computation of each layer continues the branch of its gather. The
/// first kernel of a step then waits in a queue behind gathers that it does not need. In this order, the computation is
/// one branch.
std::vector<size_t> OrderForEnqueue(absl::Span<const CommandInfo> infos);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_ENQUEUEORDER_H
