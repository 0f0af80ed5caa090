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

/// Of a function of one block that returns gradients: what its other results are computed by, in program order.
llvm::SmallVector<mlir::Operation *> collectForwardOperations(mlir::func::FuncOp function);

/// Whether the function is one of these, so that what its forward pass computes may be dropped and computed again; a
/// remark with these options says why it is not.
bool mayComputeAgain(mlir::func::FuncOp function, const RemarkOptions &remarkOptions);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_FORWARDOPERATIONS_H
