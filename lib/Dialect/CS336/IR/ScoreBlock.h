//===- ScoreBlock.h - Attention written out for a block of scores -*- C++ -*-=//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_IR_SCOREBLOCK_H
#define CS336_LIB_DIALECT_CS336_IR_SCOREBLOCK_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace cs336 {

/// Returns the axes of scores that index an element, or nullopt if its indices are computed.
std::optional<llvm::SmallVector<int64_t>> getIndexAxes(ElementOp element);

/// A box of the scores of an attention, [batch, heads, queries, keys], with the attention written out on whole tensors
/// of these scores. It has all keys.
class ScoreBlock {
public:
  ScoreBlock(AttentionOp op, mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> offsets,
             llvm::ArrayRef<int64_t> shape);

  /// Builds what the block contributes to the gradients of elements of the score function, given the gradient of the
  /// attention's output. A contribution has the axes of scores that index the element, in ascending order, or the
  /// shape [number of elements of the table, 1] if the indices are computed. It is null if the score does not depend on
  /// the element.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> buildContributions(llvm::ArrayRef<ElementOp> elements,
                                                                     mlir::Value gradient);

private:
  /// Returns the block's part of the operand, [batch, heads, positions, head_dim], in the type of scores. `axis` is the
  /// axis of scores that the positions are. Key heads are repeated.
  mlir::Value buildHeads(mlir::Value operand, int64_t axis);
  /// Returns the block's part of one number per row, repeated for all keys.
  mlir::Value broadcastRows(mlir::Value rows);
  /// Returns the index along an axis of all scores.
  mlir::Value buildIndex(int64_t axis);
  mlir::Value buildPositions(ElementOp element);
  mlir::FailureOr<mlir::Value> buildElement(ElementOp element);
  mlir::LogicalResult buildFunction(mlir::Value scaled);
  mlir::Value buildProbabilities(mlir::Value score);
  mlir::Value buildScoreGradients(mlir::Value score, mlir::Value outputGradient);
  mlir::Value reduceToElement(ElementOp element, mlir::Value gradient);

  AttentionOp op;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type compute;
  llvm::SmallVector<int64_t> offsets, shape;
  /// The values of the score function, as tensors, and the operations that compute them.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::SmallVector<mlir::Operation *> operations;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_IR_SCOREBLOCK_H
