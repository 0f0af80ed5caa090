//===- ArenaPacking.h - Offsets of blocks in an arena -----------*- C++ -*-===//
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

/// A block of bytes in use from time `first` to time `last`, both included.
struct ArenaBlock {
  int64_t bytes;
  unsigned first, last;
};

/// An offset for every block.
struct ArenaPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Returns the largest sum of bytes that are in use at one time: a lower bound of any plan.
int64_t getLargestLiveSet(llvm::ArrayRef<ArenaBlock> blocks);

/// Assigns offsets to `blocks` so that two blocks do not overlap if they are in use at the same time or if `interferes`
/// returns true for them. `interferes` is called only for pairs with disjoint times, the earlier block first. Null
/// means that no such pair interferes. If all sizes are multiples of an alignment, so are all offsets. Quadratic in the
/// number of blocks with a small constant: 10000 blocks take about 0.1 s per order tried.
ArenaPlan packArena(llvm::ArrayRef<ArenaBlock> blocks, llvm::function_ref<bool(unsigned, unsigned)> interferes);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_ARENAPACKING_H
