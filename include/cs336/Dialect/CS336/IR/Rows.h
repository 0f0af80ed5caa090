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

/// Whether `op` repeats every element of its operand along new last axes: a value a row for every element of the row.
bool isRowBroadcast(mlir::Operation *op);

/// Whether `operand` can stand beside one of `shape` in an operation on rows: it has that shape, or is a mask of its
/// last axes, which the leading ones share.
bool isOfRows(mlir::Value operand, llvm::ArrayRef<int64_t> shape);

/// Whether the operations of `block` compute rows of tensors of `shape` each from the same row of what they read: they
/// are pointwise, index arithmetic, or reduce all along the same last axes, and what is computed a row goes to elements
/// of that row alone.
bool keepsRowsApart(mlir::Block &block, llvm::ArrayRef<int64_t> shape);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_ROWS_H
