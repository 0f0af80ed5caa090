//===- ForwardOperations.h - The forward pass of a function -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_FORWARDOPERATIONS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_FORWARDOPERATIONS_H

#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336 {

/// Returns the operations that compute the results other than gradients, in program order. The function has one block
/// and returns gradients.
llvm::SmallVector<mlir::Operation *> collectForwardOperations(mlir::func::FuncOp function);

/// Returns whether the function has one block and returns gradients, so that activations may be dropped and recomputed.
/// Otherwise emits a remark with these options that gives the reason.
bool mayComputeAgain(mlir::func::FuncOp function, const RemarkOptions &remarkOptions);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_FORWARDOPERATIONS_H
