//===- IndexVerifier.h - Proof that kernels stay inside their buffers -*- C++ -*-===//
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

/// Called with the ranges of a launch's operands, inputs before outputs. The ranges of inputs hold before the launch.
/// The ranges of outputs follow from those of the inputs. Operands of other element types have no range.
using LaunchRangesVisitor = llvm::function_ref<void(LaunchOp, mlir::ArrayRef<mlir::IntegerValueRange>)>;

/// Succeeds if all integers that kernels of the entry use as indices are in bounds: by an input's bound, by the
/// operations that compute them, or because `exec.check_bound` has checked them. The kernels and buffers must be
/// verified. Calls `visit` with the ranges of each launch.
mlir::LogicalResult verifyIndices(EntryOp entry, mlir::SymbolTableCollection &symbols, LaunchRangesVisitor visit);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_INDEXVERIFIER_H
