//===- ScoreFunction.h - What attention computes of a score -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of `cs336.attention` and `cs336.attention_backward`: a function of one scaled score and its place.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_SCOREFUNCTION_H
#define CS336_DIALECT_CS336_IR_SCOREFUNCTION_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// Numbers of the arguments of a score function. Tables follow the key.
namespace score {
constexpr unsigned kScore = 0, kBatch = 1, kHead = 2, kQuery = 3, kKey = 4, kFirstTable = 5;
} // namespace score

/// Appends an empty block with the arguments of a score function to `region`: a scaled score of `type`, four indices,
/// and the tables.
mlir::Block &createScoreFunction(mlir::Region &region, mlir::FloatType type, mlir::ValueRange tables,
                                 mlir::Location loc);

/// Verifies the region of an attention. Its function yields `numResults` values of the score's type.
mlir::LogicalResult verifyScoreFunction(AttentionOp op, unsigned numResults);
mlir::LogicalResult verifyScoreFunction(AttentionBackwardOp op, unsigned numResults);

/// Returns the integers that an argument of a score function can be, given the numbers of batches, heads, queries and
/// keys. The range has no value unless the argument is an index.
mlir::IntegerValueRange getScoreArgumentRange(mlir::BlockArgument argument, llvm::ArrayRef<int64_t> bounds);

/// Reads an element of a table, given its number among the tables and one i32 per axis.
using ReadElement = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, unsigned, mlir::ValueRange)>;

/// Builds arith and math operations that compute the values that the function yields. `arguments` are the score and the
/// four indices (i32) as scalars. Comparisons in `known` have the given results. Minima and maxima in it are their
/// first operand, or their second one if the value is false.
llvm::SmallVector<mlir::Value>
buildScoreScalars(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &function, mlir::ValueRange arguments,
                  ReadElement readElement,
                  const llvm::DenseMap<mlir::Operation *, bool> &known = llvm::DenseMap<mlir::Operation *, bool>());

/// Returns the FLOPs of one evaluation of the function.
int64_t countScoreFlops(mlir::Block &function);

/// Makes the function yield its derivative with respect to the scaled score too. Fails with a diagnostic if an
/// operation has no adjoint.
mlir::LogicalResult appendScoreDerivative(mlir::Block &function);

/// Builds the gradients of an attention's tables, one value per table, null for a table of integers. The operations are
/// on tensors of [batch, heads, queries, keys] elements; those of unused gradients are dead code. `gradient` is the
/// gradient of the output.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> buildTableGradients(AttentionOp op, mlir::OpBuilder &builder,
                                                                    mlir::Value gradient);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_SCOREFUNCTION_H
