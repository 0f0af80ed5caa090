//===- ScoreToScalars.h - Score functions as scalar code --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_CODEGEN_SCORETOSCALARS_H
#define CS336_CODEGEN_SCORETOSCALARS_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// Builds a function of scalars from the score function of an attention or its gradient, at the builder's insertion
/// point. The arguments are the scaled score, the batch, head, query and key (i32), and the tables (tensors). The
/// results are the first `numResults` values that the score function yields. Its body is arith, math and
/// `tensor.extract` of tables, without dead code. Comparisons in `known` have the given results. Minima and maxima in
/// it are their first operand, or their second one if the value is false.
mlir::FailureOr<mlir::func::FuncOp>
lowerScoreToScalars(mlir::Block &function, unsigned numResults, mlir::OpBuilder &builder,
                    const llvm::DenseMap<mlir::Operation *, bool> &known = llvm::DenseMap<mlir::Operation *, bool>());

/// Replaces conditions (i1) of a function of scalars by the given results, and folds operations whose results follow.
/// The conditions may be erased.
mlir::LogicalResult assumeConditions(mlir::func::FuncOp scalars,
                                     llvm::ArrayRef<std::pair<mlir::Value, bool>> conditions);

} // namespace cs336

#endif // CS336_CODEGEN_SCORETOSCALARS_H
