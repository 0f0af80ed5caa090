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

/// Converts the operands of an attention's matmuls to [batch, positions, heads, head_dim], and its output back, with
/// layout operations that combine with those around them: of the transpositions that split and merge heads, only
/// reshapes remain.
///
/// The leading axes of scores are batch axes and heads: if there are several, the last one is heads. Keys and values
/// that are repeated along trailing leading axes (by a broadcast whose new axis may be merged into heads) are read once
/// for all of these query heads.
class HeadLayout {
public:
  HeadLayout(MatmulOp scores, MatmulOp values, mlir::OpBuilder &builder);

  mlir::Value getQuery();
  mlir::Value getKey();
  mlir::Value getValue();

  /// Returns the number of leading axes of scores that are batch axes. The others are heads.
  size_t getNumBatchAxes() const { return numBatch; }

  /// Returns `output`, [batch, positions, heads, head_dim], in the layout of the matmul of probabilities and values.
  mlir::Value getMatmulResult(mlir::Value output);

private:
  /// A tensor [..., rows, columns]. Its leading axes are the axes of `sizes` along which it is not repeated.
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
  /// The number of leading axes of keys: `numBatch`, plus one if keys have heads.
  size_t numKeyAxes;
};

/// Permutes axes, and combines this with the transposition that computes `value`, if any.
mlir::Value composeTranspose(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                             llvm::ArrayRef<int64_t> perm);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_HEADLAYOUT_H
