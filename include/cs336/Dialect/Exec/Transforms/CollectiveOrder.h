//===- CollectiveOrder.h - The collectives commands depend on ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_TRANSFORMS_COLLECTIVEORDER_H
#define CS336_DIALECT_EXEC_TRANSFORMS_COLLECTIVEORDER_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// Returns whether the command exchanges data with other ranks: it is a collective of a group of two or more.
bool communicates(mlir::Operation *command);

/// Returns for each command the latest collective among itself and the commands that it depends on, directly or through
/// others: k for the k-th collective in order that communicates, and 0 for none. A command depends on an earlier one if
/// both access the same storage and one of them writes it; accesses of different elements count too. The number of a
/// command is at least that of every command that it depends on.
llvm::SmallVector<unsigned> findLatestCollectives(llvm::ArrayRef<CommandOpInterface> commands);

/// Returns the positions of all commands in a new order. Commands up to the last collective that communicates keep
/// their places. The commands after it are sorted by their latest collective; commands with the same one keep their
/// order. Each command follows the commands that it depends on.
llvm::SmallVector<unsigned> orderByLatestCollective(llvm::ArrayRef<CommandOpInterface> commands);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_TRANSFORMS_COLLECTIVEORDER_H
