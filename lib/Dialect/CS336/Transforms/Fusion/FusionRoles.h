//===- FusionRoles.h - The roles of operations in fusion --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONROLES_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONROLES_H

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// The role of an operation in fusion, from its interfaces.
enum class FusionRole {
  /// An operation that has its own kernel or command, and every other operation without one of the following roles.
  Opaque,
  /// A layout operation, which costs nothing.
  View,
  /// Index arithmetic, which every kernel that reads it computes again: broadcasts, constants, and a little arithmetic
  /// on constants and indices (a causal mask).
  Rematerialized,
  Pointwise,
  /// Combines elements along the last axes.
  RowReduction,
  /// Combines elements along other axes, or along all: nothing can follow in the same kernel.
  ClosedReduction,
  Assembly,
};

/// The roles of a block's operations.
class FusionRoles {
public:
  explicit FusionRoles(mlir::Block &block);

  FusionRole get(mlir::Operation *op) const { return roles.lookup(op); }
  /// Gives `copy`, a copy of `op`, the role of `op`.
  void addCopy(mlir::Operation *copy, mlir::Operation *op);
  /// Returns whether a group can hold `op` as more than index arithmetic.
  bool isFusible(mlir::Operation *op) const;
  /// Returns whether every kernel that reads `value` computes it again.
  bool isRematerialized(mlir::Value value) const;
  /// Returns whether every kernel computes `value` without reading anything.
  bool isLiteral(mlir::Value value) const;
  /// Returns whether `op` is element-wise and has one result with the shape of its operands. Such an operation can be
  /// computed again, from other operands.
  bool isRecomputable(mlir::Operation *op) const;
  /// Returns whether `op` is element-wise without arithmetic: a cast. It maps zero to zero.
  bool isConversion(mlir::Operation *op) const;

  /// Calls `fn` on every value that a kernel loads to compute `operand`.
  void forEachLoad(mlir::Value operand, llvm::function_ref<void(mlir::Value)> fn) const;

private:
  FusionRole classify(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, FusionRole> roles;
  /// For values that are computed from constants and indices alone: the total FLOPs per element.
  llvm::DenseMap<mlir::Value, int64_t> literalFlops;
};

/// Returns the FLOPs of an operation, or 0 if it does not count them.
int64_t getOperationFlops(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_FUSIONROLES_H
