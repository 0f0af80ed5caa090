//===- ArenaPacking.h - Places blocks in an arena -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_ARENAPACKING_H
#define CS336_DIALECT_EXEC_TRANSFORMS_ARENAPACKING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace cs336::exec {

/// Bytes that are needed from time `first` to time `last`, both included.
struct ArenaBlock {
  int64_t bytes;
  unsigned first, last;
};

/// A place for every block.
struct ArenaPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};

/// The largest sum of bytes that are needed at one time: a lower bound of any plan.
int64_t getLargestLiveSet(llvm::ArrayRef<ArenaBlock> blocks);

/// Places `blocks` so that those that are needed at one time, and those of which `interferes` says so, do not overlap.
/// `interferes` is asked about pairs of disjoint times only, the earlier one first; null means that none does. Sizes
/// that are multiples of an alignment give offsets that are. Quadratic in the number of blocks with a small constant:
/// ten thousand take about a tenth of a second an order tried.
ArenaPlan packArena(llvm::ArrayRef<ArenaBlock> blocks, llvm::function_ref<bool(unsigned, unsigned)> interferes);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_ARENAPACKING_H
