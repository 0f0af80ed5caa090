//===- HappensBefore.h - Which commands are over before others start -*- C++ -*-===//
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
/// record of its event. Every command has a vector clock: how many commands of each stream are over when it starts.
class HappensBefore {
public:
  /// `entry` has passed its verifier, so every event that is waited for was recorded.
  explicit HappensBefore(EntryOp entry);

  /// Commands by position in the entry.
  llvm::ArrayRef<CommandOpInterface> getCommands() const { return commands; }
  unsigned getNumStreams() const { return numStreams; }
  /// The stream of a command, counted from 0 without gaps.
  unsigned getStream(unsigned position) const { return streams[position]; }

  /// Whether the command at `first` is over before the one at `second` starts.
  bool isBefore(unsigned first, unsigned second) const {
    return clocks[second * numStreams + streams[first]] > ranks[first];
  }

private:
  llvm::SmallVector<CommandOpInterface> commands;
  unsigned numStreams = 0;
  llvm::SmallVector<unsigned> streams;
  /// A command's number within its stream.
  llvm::SmallVector<unsigned> ranks;
  /// numStreams entries a command.
  std::vector<unsigned> clocks;
};

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_HAPPENSBEFORE_H
