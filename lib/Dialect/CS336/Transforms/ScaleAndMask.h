//===- ScaleAndMask.h - What stands between scores and a softmax -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_SCALEANDMASK_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_SCALEANDMASK_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace cs336 {

/// As `getSplat`, converted to double.
std::optional<double> getSplatNumber(mlir::Value value);

/// Returns whether a factor is finite and stays different from 0 in float32, in which kernels multiply.
bool fitsFloat32(double factor);

/// A tensor whose elements are all multiplied by one finite number.
struct Scaling {
  mlir::Value operand;
  double factor;
};

/// Matches x·c, c·x or x/c. A mask that hides nothing, x + 0, is a scale of 1.
std::optional<Scaling> matchScaling(mlir::Operation *op);

/// A tensor with hidden elements: those where `selector` is true if `hidesTrue` is set, or else those where it is
/// false. The selector is i1, or a number that is 0 for visible elements and −∞ for hidden ones.
struct Masking {
  mlir::Value operand, selector;
  bool hidesTrue = false;
};

/// Matches select(mask, x, −∞), select(mask, −∞, x), or x + c where every element of c is 0 or −∞.
std::optional<Masking> matchMasking(mlir::Operation *op);
/// Matches select(mask, g, 0) or select(mask, 0, g): the gradient of a masked tensor.
std::optional<Masking> matchMaskedGradient(mlir::Operation *op);

/// Builds the mask that is true for visible elements. Its shape is the selector's, without leading axes along which the
/// selector is repeated.
mlir::Value buildVisible(mlir::OpBuilder &builder, mlir::Location loc, const Masking &masking);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_SCALEANDMASK_H
