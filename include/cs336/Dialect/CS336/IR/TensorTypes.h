//===- TensorTypes.h - Types and shapes of tensor values --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_TENSORTYPES_H
#define CS336_DIALECT_CS336_IR_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace cs336 {

/// Returns the type of a value that is a ranked tensor.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Returns the sizes of a value that is a ranked tensor.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return tensorType(value).getShape(); }

/// Returns the number of axes of a value that is a ranked tensor.
inline int64_t rankOf(mlir::Value value) { return tensorType(value).getRank(); }

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_TENSORTYPES_H
