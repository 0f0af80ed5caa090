//===- Rows.h - Operations that keep rows apart -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_ROWS_H
#define CS336_DIALECT_CS336_IR_ROWS_H

#include "mlir/IR/Operation.h"

namespace cs336 {

/// Returns whether `op` repeats every element of its operand along new last axes: one value per row, for every element
/// of the row.
bool isRowBroadcast(mlir::Operation *op);

/// Returns whether `operand` may appear beside a value of `shape` in an operation on rows: it has that shape, or is a
/// mask of its last axes, which the leading axes share.
bool isOfRows(mlir::Value operand, llvm::ArrayRef<int64_t> shape);

/// Returns whether each row of `shape` that the operations of `block` compute depends on the same row of their operands
/// only. This holds if all of them are element-wise, index arithmetic, or reductions along the same last axes, and if a
/// value per row is used for elements of that row alone.
bool keepsRowsApart(mlir::Block &block, llvm::ArrayRef<int64_t> shape);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_ROWS_H
