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
/// The order does not change what a run computes, but which branches a CUDA graph gets. Branches share 8 queues of the
/// device, and a branch can be stuck behind another one in its queue. A command that waits for another stream follows
/// the previous command of its own stream in one branch if that was enqueued before the awaited work; otherwise it
/// begins a new branch. The order therefore prefers that, for waits of the main stream first:
///
/// - A gather for which the computation waits is enqueued after the computation that precedes the wait. If gathers were
///   enqueued first, each layer would continue the branch of its gather, and the first kernel of a step would wait
///   behind gathers that it does not need.
/// - A reduction is enqueued before the computation of the next reduction's gradient. If reductions were enqueued last,
///   each would begin a branch, and one of them would be in the queue of the computation until the backward pass ends.
std::vector<size_t> OrderForEnqueue(absl::Span<const CommandInfo> infos);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_ENQUEUEORDER_H
