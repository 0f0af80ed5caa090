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

/// As `getSplat`, a double.
std::optional<double> getSplatNumber(mlir::Value value);

/// A tensor whose elements are all multiplied by one finite number.
struct Scaling {
  mlir::Value operand;
  double factor;
};

/// x·c, c·x or x/c; x + 0, a mask that hides nothing, is scaled by 1.
std::optional<Scaling> matchScaling(mlir::Operation *op);

/// A tensor of which some elements are hidden: where `selector` holds if `hidesTrue`, else where it does not. The
/// selector is of i1, or a number that is 0 where elements are visible and −∞ where they are not.
struct Masking {
  mlir::Value operand, selector;
  bool hidesTrue = false;
};

/// select(mask, x, −∞), select(mask, −∞, x), or x + c where c is 0 or −∞ everywhere.
std::optional<Masking> matchMasking(mlir::Operation *op);
/// select(mask, g, 0) or select(mask, 0, g): the gradient of a masked tensor.
std::optional<Masking> matchMaskedGradient(mlir::Operation *op);

/// Builds the mask that holds where elements are visible. Its shape is that of the last axes of the selector, without
/// the leading ones that it is repeated along.
mlir::Value buildVisible(mlir::OpBuilder &builder, mlir::Location loc, const Masking &masking);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_SCALEANDMASK_H
