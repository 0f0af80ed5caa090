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
/// in order, as do records of an event and waits for it. Commands of side streams, from the last stream to the first
/// one, are enqueued as early as that allows, and commands of the main stream when no other can be.
///
/// The order does not change what a run computes, but which branches a CUDA graph gets. In traces, a node continues the
/// branch of the oldest node that it depends on, unless that branch already goes on: then it begins a new one, and
/// branches share a few queues of the device. A gather that is enqueued before the computation that waits for the
/// gather before it continues the branch of gathers. Otherwise the computation would, each gather would begin a branch,
/// and computation would wait in a queue behind gathers that it does not need.
std::vector<size_t> OrderForEnqueue(absl::Span<const CommandInfo> infos);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_ENQUEUEORDER_H
