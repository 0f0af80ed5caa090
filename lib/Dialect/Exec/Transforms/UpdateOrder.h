//===- UpdateOrder.h - The order of updates and gathers ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H

#include "StepSimulation.h"

namespace cs336::exec {

/// A gather whose operands are all in place, and the commands that write the own parts of its variables.
struct UpdateUnit {
  CollectiveOp gather;
  /// Position of the gather among the entry's commands.
  unsigned position;
  /// Positions of the updates, in order.
  llvm::SmallVector<unsigned> updates;
  /// Bytes that a rank sends to the others.
  double sentBytes = 0;
};

/// Orders the commands after the last collective of an entry, and the gathers that follow some of them, so that gathers
/// run beside updates.
class UpdateOrder {
public:
  /// `units` have the order of their gathers, and at least one update each. Memory has `linkRatio` times the bandwidth
  /// of gathers by copy engines.
  UpdateOrder(EntryOp entry, llvm::ArrayRef<CommandOpInterface> commands, llvm::ArrayRef<UpdateUnit> units,
              double linkRatio);

  /// Returns the number of first units, at most `most`, whose gathers follow their updates in the order with the
  /// shortest predicted time (`StepSimulation`): the smallest number if several are equally good.
  size_t chooseCount(size_t most) const;

  /// Returns the positions of all commands in their new order. The gathers of the first `count` units follow their
  /// updates.
  ///
  /// Updates before the last collective keep their places. The half of the other units whose gradients are ready first
  /// is updated first, and gathered. The other half follows, and is gathered too. All other commands come last, in
  /// their order. If the second half needs later collectives and the updates of the first one are few, some of the
  /// other updates come before: the device has them to do while it waits.
  llvm::SmallVector<unsigned> order(size_t count) const;

private:
  class Builder;
  /// Returns whether all updates of the unit are before the last collective.
  bool isUpdatedFirst(size_t unit) const;
  unsigned getReadiness(size_t unit) const;

  llvm::ArrayRef<CommandOpInterface> commands;
  llvm::ArrayRef<UpdateUnit> units;
  StepSimulation simulation;
  /// Position of the first command after the last collective.
  unsigned begin = 0;
  /// By position: bytes, and the number of the last collective that a command depends on.
  llvm::SmallVector<double> bytes;
  llvm::SmallVector<unsigned> latest;
  double totalBytes = 0;
};

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H
