//===- GradientStatistics.h - Numbers of all gradients together -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_GRADIENTSTATISTICS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_GRADIENTSTATISTICS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cs336 {

/// A gradient, and where what is computed of it belongs.
struct LocatedGradient {
  mlir::Value value;
  mlir::Location loc;
};

/// What to compute, and the results, of rank 0.
struct GradientStatistics {
  bool wantsNorm = false, wantsFinite = false;
  /// Multiplies the gradients before their norm is taken; null is 1. In float32.
  mlir::Value factor;

  /// ‖factor·g‖₂ over all gradients, in float32, or float64 where a gradient is.
  mlir::Value norm;
  /// i1: whether every element of every gradient, as it is, is finite.
  mlir::Value isFinite;

  /// Builds what is wanted at the builder's insertion point, in one kernel a gradient, which reads it once and stores
  /// nothing of its size, and kernels of scalars, at `loc`.
  void build(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<LocatedGradient> gradients, mlir::Location loc);
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_GRADIENTSTATISTICS_H
