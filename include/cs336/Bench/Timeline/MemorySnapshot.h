//===- MemorySnapshot.h - A timeline for pytorch.org/memory_viz -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_MEMORYSNAPSHOT_H
#define CS336_BENCH_TIMELINE_MEMORYSNAPSHOT_H

#include "cs336/Bench/Timeline/MemoryTimeline.h"

namespace cs336::bench {

/// The limit of a snapshot: it has fewer bytes.
inline constexpr size_t kMostSnapshotBytes = 20'000'000;

/// The parts of a timeline that a snapshot leaves out.
struct OmittedAllocations {
  size_t count = 0;
  /// The size of the largest one.
  int64_t largestBytes = 0;
};

/// Writes a memory snapshot in the format of PyTorch's `torch.cuda.memory._dump_snapshot`, a pickle. Variables and
/// inputs are in the first segment, and the arena is the second. The trace allocates the variables and inputs, then
/// runs one step. The frames of an allocation are its operation, its layer and its phase. The category of an allocation
/// is its kind; that of segments is "unknown". If not everything fits into `kMostSnapshotBytes`, the smallest
/// allocations, variables and inputs are omitted, and the result describes them.
OmittedAllocations writeMemorySnapshot(const MemoryTimeline &timeline, llvm::raw_ostream &os);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_MEMORYSNAPSHOT_H
