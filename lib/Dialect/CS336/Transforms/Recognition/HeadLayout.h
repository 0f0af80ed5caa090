//===- HeadLayout.h - Axes of attention's operands --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_HEADLAYOUT_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_HEADLAYOUT_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Brings the operands of the products of an attention into [batch, positions, heads, head_dim], and its output back,
/// by layout operations that compose with those around them: a head split and merge leave reshapes.
///
/// The leading axes of scores are batch axes and heads: the last of them is heads if there are several. Keys and
/// values that are repeated along trailing ones (a broadcast, or one whose new axis is merged into heads) are read
/// once for all of these query heads.
class HeadLayout {
public:
  HeadLayout(MatmulOp scores, MatmulOp values, mlir::OpBuilder &builder);

  mlir::Value getQuery();
  mlir::Value getKey();
  mlir::Value getValue();

  /// `output`, [batch, positions, heads, head_dim], as the product of probabilities and values has it.
  mlir::Value getProduct(mlir::Value output);

private:
  /// A tensor [..., rows, columns] whose leading axes are those of `sizes` that it is not repeated along.
  struct Repeated {
    mlir::Value tensor;
    llvm::SmallVector<int64_t> sizes;
    llvm::SmallVector<bool> has;
  };
  Repeated peel(mlir::Value tensor, bool mayPeel) const;
  void chooseAxes();
  mlir::Value getKeyOrValue(const Repeated &repeated, bool isTransposed);

  MatmulOp scores, values;
  mlir::OpBuilder &builder;
  /// The leading axes of scores, of which the first `numBatch` are batch axes.
  llvm::SmallVector<int64_t> leading;
  Repeated key, value;
  size_t numBatch;
  /// The leading axes that keys have, one more than `numBatch` if they have heads.
  size_t numKeyAxes;
};

/// Permutes axes, through a permutation that `value` may come from.
mlir::Value composeTranspose(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                             llvm::ArrayRef<int64_t> perm);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_HEADLAYOUT_H
