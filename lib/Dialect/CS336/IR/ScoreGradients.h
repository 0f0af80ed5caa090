//===- ScoreGradients.h - Reverse mode over a score function ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_IR_SCOREGRADIENTS_H
#define CS336_LIB_DIALECT_CS336_IR_SCOREGRADIENTS_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// Builds the gradients of `sources`, values that `ops` read or compute, from the gradients that `gradients` holds, and
/// adds them to it. Each of `ops` has one result. Fails with a diagnostic if an operation has no adjoint.
mlir::LogicalResult buildGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops,
                                   mlir::ValueRange sources, llvm::DenseMap<mlir::Value, mlir::Value> &gradients);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_IR_SCOREGRADIENTS_H
