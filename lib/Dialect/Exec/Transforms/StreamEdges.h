//===- StreamEdges.h - Order between two streams ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_STREAMEDGES_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_STREAMEDGES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include <vector>

namespace cs336::exec {

/// The stream of collectives that communicate, and the stream of all other commands.
enum Stream : unsigned { kComputation, kCommunication, kNumStreams };

/// The command at position `waiting` starts after the command at position `ended`, which is on the other stream.
struct StreamEdge {
  unsigned ended, waiting;
  /// If only the reuse of memory requires this edge: the bytes that would be in use at `waiting` without it. Otherwise
  /// 0.
  int64_t bytesWithout = 0;
};

/// Finds the edges that the commands of an entry need if collectives run on a stream of their own, in the order of the
/// waiting commands (see `--exec-assign-streams`). `commands` are all commands of the entry, none of which uses events.
/// Edges for freed memory keep the largest live set of the arena at `largestLiveSet` bytes where they can.
std::vector<StreamEdge> findStreamEdges(llvm::ArrayRef<CommandOpInterface> commands, int64_t largestLiveSet);

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_STREAMEDGES_H
