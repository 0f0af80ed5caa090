//===- UpdateOrder.h - The order of updates and gathers ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// A gather whose operands are all in place, and the commands that write the own parts of its variables.
struct UpdateUnit {
  CollectiveOp gather;
  /// Positions among the entry's commands, in order.
  llvm::SmallVector<unsigned> updates;
  /// Bytes that a rank sends to the others.
  double sentBytes = 0;
};

/// Orders the commands after the last collective of an entry, and the gathers that follow some of them.
///
/// Gathers run beside updates. They should start early, and end before the last update does. The time of an update is
/// the number of bytes that it reads and writes. The time of a gather is the number of bytes that a rank sends, times
/// the ratio of the bandwidths.
class UpdateOrder {
public:
  /// A command by its position, or the gather of the unit of this number.
  struct Step {
    unsigned number;
    bool isGather;
  };

  /// `units` have the order of their gathers. Their updates follow the last collective.
  UpdateOrder(EntryOp entry, llvm::ArrayRef<CommandOpInterface> commands, llvm::ArrayRef<UpdateUnit> units,
              double linkRatio);

  /// Returns the largest number of first units, at most `most`, whose gathers end before the last command does.
  size_t chooseCount(size_t most) const;

  /// Returns the commands after the last collective with the gathers of the first `count` units.
  ///
  /// The half of the units whose gradients are ready first is updated first, and gathered. The other half follows, and
  /// is gathered too. All other commands come last, in their order. If the second half needs later collectives and the
  /// updates of the first one are few, some of the other updates come before: the device has them to do while it waits.
  llvm::SmallVector<Step> order(size_t count) const;

private:
  class Builder;
  bool gathersEndInTime(llvm::ArrayRef<Step> steps) const;
  unsigned getReadiness(size_t unit) const;

  llvm::ArrayRef<CommandOpInterface> commands;
  llvm::ArrayRef<UpdateUnit> units;
  double linkRatio;
  /// Position of the first command after the last collective.
  unsigned begin = 0;
  /// By position: bytes, and the number of the last collective that a command depends on.
  llvm::SmallVector<double> bytes;
  llvm::SmallVector<unsigned> latest;
  double totalBytes = 0;
};

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_UPDATEORDER_H
