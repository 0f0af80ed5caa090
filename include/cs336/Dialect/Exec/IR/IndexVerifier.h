//===- IndexVerifier.h - Kernels stay inside of their buffers -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_INDEXVERIFIER_H
#define CS336_DIALECT_EXEC_IR_INDEXVERIFIER_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace cs336::exec {

/// Takes the ranges of a launch's operands, inputs before outputs: of the integers that it reads and, these given, of
/// those that it writes. Operands of other elements have no range.
using LaunchRangesVisitor = llvm::function_ref<void(LaunchOp, mlir::ArrayRef<mlir::IntegerValueRange>)>;

/// Succeeds if all integers that kernels of the entry use as indices are in bounds: by the bound of an input, by what
/// computed them, or because `exec.check_bound` has checked them. The kernels and buffers have been verified. Calls
/// `visit` with the ranges of each launch.
mlir::LogicalResult verifyIndices(EntryOp entry, mlir::SymbolTableCollection &symbols, LaunchRangesVisitor visit);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_INDEXVERIFIER_H
