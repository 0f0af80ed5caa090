//===- Lifetimes.h - Lifetimes of storage in the arena ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
#define CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H

#include "cs336/Dialect/Exec/Transforms/HappensBefore.h"

namespace cs336::exec {

/// Returns the identity of the storage of `buffer`: the operation that defines it, or the name of a variable, because
/// an entry may have several operations for one variable.
const void *getStorageIdentity(mlir::Value buffer);

/// The uses of storage in the arena.
struct Lifetime {
  ArenaOpInterface storage;
  int64_t bytes = 0;
  /// Positions of the first and the last command that use it. Storage that outlives the commands is in use until the
  /// last command.
  unsigned first = 0, last = 0;
  /// With several streams: the first and the last command on each stream that uses it.
  llvm::SmallVector<unsigned, 2> firstOfStreams, lastOfStreams;
};

/// Computes the lifetimes of an entry's storage in the arena, in order of first use. Unused storage is left out. Fails
/// with a diagnostic if two commands use the same storage, one of them writes, and neither ends before the other
/// starts.
mlir::FailureOr<std::vector<Lifetime>> computeLifetimes(EntryOp entry, const HappensBefore &order);

/// Returns whether some use of `a` is neither before all uses of `b` nor after them.
bool interferes(const Lifetime &a, const Lifetime &b, const HappensBefore &order);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_LIFETIMES_H
