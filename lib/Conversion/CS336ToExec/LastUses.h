//===- LastUses.h - The last read of each tensor ----------------*- C++ -*-===//
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

/// Positions in a block of the last commands that read each value. The operands of views and of rematerialized
/// operations count as read by the readers of their results.
class LastUses {
public:
  explicit LastUses(mlir::Block &block);

  /// Returns whether any command or return reads `value`.
  bool isRead(mlir::Value value) const { return lastReads.contains(value); }
  /// Returns whether any result of `op` is read.
  bool isNeeded(mlir::Operation *op) const;
  /// Returns whether nothing reads `value` after `op`; `op` itself may. Returned values are read at the end of the
  /// function.
  bool isDeadAfter(mlir::Value value, mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, unsigned> lastReads;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

/// Returns whether every kernel that reads `op` computes it again.
bool isRematerializable(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_LASTUSES_H
