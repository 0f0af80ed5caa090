//===- LiveSet.h - Memory that a function holds at once ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace cs336 {

/// Returns whether readers of the result read the operand's memory instead, if it has any: views, broadcasts,
/// constants.
bool hasNoMemory(mlir::Operation *op);

/// What `value` holds elements of; null for what is computed wherever it is read.
mlir::Value getSource(mlir::Value value);

/// The most bytes that tensors which the block computes take at once, if each operation writes memory of its own, in
/// program order, and each tensor lives to its last reader. What plans need lies above: they have workspaces; or below:
/// they let results take the place of operands.
int64_t getLargestLiveSet(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H
