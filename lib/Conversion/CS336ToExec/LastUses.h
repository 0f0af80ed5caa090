//===- LastUses.h - When a tensor is read for the last time -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_LASTUSES_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_LASTUSES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// Positions in a block of the last commands that read each value. Views and rematerialised operations pass on: their
/// operands are read by whoever reads their results.
class LastUses {
public:
  explicit LastUses(mlir::Block &block);

  /// Whether anything that matters reads `value`.
  bool isRead(mlir::Value value) const { return lastReads.contains(value); }
  /// Whether any result of `op` is read.
  bool isNeeded(mlir::Operation *op) const;
  /// Whether nothing reads `value` after `op`; `op` itself may. What the function returns is read at its end.
  bool isDeadAfter(mlir::Value value, mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> lastReads;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

/// Whether `op` is computed again by every kernel that reads it.
bool isRematerializable(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_LASTUSES_H
