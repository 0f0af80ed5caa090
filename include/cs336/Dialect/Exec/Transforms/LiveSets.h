//===- LiveSets.h - Live sets of an entry as commands move ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_LIVESETS_H
#define CS336_DIALECT_EXEC_TRANSFORMS_LIVESETS_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "llvm/ADT/MapVector.h"

namespace cs336::exec {

/// The sizes of an entry's live sets, updated as its commands move. Commands run one after the other.
class LiveSets {
public:
  /// `commands` are all commands of an entry, in order.
  explicit LiveSets(llvm::ArrayRef<CommandOpInterface> commands);

  /// Returns the bytes of the largest live set of the original order.
  int64_t getLargest() const { return largest; }

  /// Moves the command at each original position p to the position `newPlaces[p]`. Returns false, and moves nothing, if
  /// the largest live set would exceed that of the original order by more than `growth` bytes.
  bool tryMove(llvm::ArrayRef<unsigned> newPlaces, int64_t growth = 0);

  /// Moves the commands at the original `positions` to the current position of the last, under the same condition.
  bool tryMoveToLast(llvm::ArrayRef<unsigned> positions);

private:
  int64_t computeLargest(llvm::ArrayRef<unsigned> newPlaces) const;

  llvm::MapVector<ArenaOpInterface, llvm::SmallVector<unsigned, 4>> uses;
  /// The current position of each command, by original position.
  llvm::SmallVector<unsigned> places;
  int64_t largest;
};

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_LIVESETS_H
