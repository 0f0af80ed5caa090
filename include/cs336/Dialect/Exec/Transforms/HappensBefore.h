//===- HappensBefore.h - The partial order of an entry's commands -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_HAPPENSBEFORE_H
#define CS336_DIALECT_EXEC_TRANSFORMS_HAPPENSBEFORE_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// The partial order of an entry's commands: a stream runs its commands one after the other, and a wait follows the
/// record of its event. Every command has a vector clock: the number of commands per stream that have ended when it
/// starts.
class HappensBefore {
public:
  /// `entry` must be verified, so that every awaited event was recorded.
  explicit HappensBefore(EntryOp entry);

  /// Commands by position in the entry.
  llvm::ArrayRef<CommandOpInterface> getCommands() const { return commands; }
  unsigned getNumStreams() const { return numStreams; }
  /// Returns the stream of a command, counted from 0 without gaps.
  unsigned getStream(unsigned position) const { return streams[position]; }

  /// Returns whether the command at `first` ends before the command at `second` starts.
  bool isBefore(unsigned first, unsigned second) const {
    return clocks[second * numStreams + streams[first]] > ranks[first];
  }

private:
  llvm::SmallVector<CommandOpInterface> commands;
  unsigned numStreams = 0;
  llvm::SmallVector<unsigned> streams;
  /// The number of each command within its stream.
  llvm::SmallVector<unsigned> ranks;
  /// numStreams entries per command.
  std::vector<unsigned> clocks;
};

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_HAPPENSBEFORE_H
