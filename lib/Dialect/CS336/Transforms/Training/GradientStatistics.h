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

/// Converts a tensor to an element type. Returns the tensor itself if it has this type.
mlir::Value convertElements(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Type elementType);

/// A gradient, and the location of the operations that read it.
struct LocatedGradient {
  mlir::Value value;
  mlir::Location loc;
  /// The number of ranks that have a part of the gradient each; 1 if all ranks have the whole.
  int64_t shards = 1;
};

/// The statistics to compute, and the results, of rank 0.
struct GradientStatistics {
  bool wantsNorm = false, wantsFinite = false;
  /// The number of ranks that run the function. Replicated gradients that these ranks could shard are summed up as if
  /// they were sharded, so that the norm has the same bits.
  int64_t ranks = 1;
  /// Factor of the gradients before their norm is computed, in float32; null means 1.
  mlir::Value factor;

  /// The norm ‖factor·g‖₂ over all gradients, in float32, or in float64 if a gradient is float64.
  mlir::Value norm;
  /// An i1 that is true if every element of every unscaled gradient is finite.
  mlir::Value isFinite;

  /// Builds the requested statistics at the builder's insertion point: one kernel per gradient and rank, which reads it
  /// once and stores no tensor of its size, and kernels on scalars, at `loc`. If gradients are sharded, one collective
  /// adds the scalars of all ranks' parts, so all ranks have the statistics of the whole gradients.
  void build(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<LocatedGradient> gradients, mlir::Location loc);
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_GRADIENTSTATISTICS_H
