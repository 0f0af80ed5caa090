//===- Lifetimes.h - When places in the arena hold values -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
#define CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H

#include "cs336/Dialect/Exec/Transforms/HappensBefore.h"

namespace cs336::exec {

/// The uses of storage in the arena.
struct Lifetime {
  ArenaOpInterface storage;
  int64_t bytes = 0;
  /// Positions of the first and the last command that touch it. What outlives the commands is used until the last one.
  unsigned first = 0, last = 0;
  /// With several streams: the first and the last on each stream that does.
  llvm::SmallVector<unsigned, 2> firstOfStreams, lastOfStreams;
};

/// The lifetimes of an entry's storage in the arena that is used at all, in order of first use. An error where two
/// commands touch the same storage, one of them writes, and neither is over before the other starts.
mlir::FailureOr<std::vector<Lifetime>> computeLifetimes(EntryOp entry, const HappensBefore &order);

/// Whether some use of `a` is neither before all uses of `b` nor after them.
bool interferes(const Lifetime &a, const Lifetime &b, const HappensBefore &order);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
