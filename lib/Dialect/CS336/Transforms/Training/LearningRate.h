//===- LearningRate.h - Scalars of an optimizer step ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LEARNINGRATE_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LEARNINGRATE_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cs336 {

/// Builds the learning rate at the zero-based `iteration` (tensor<f64>), as CS336's get_lr_cosine_schedule:
///
///     it < warmup            lr · it / warmup
///     warmup ≤ it ≤ cosine   min + ½ (1 + cos(π (it − warmup) / (cosine − warmup))) (lr − min)
///     it > cosine            min
///
/// Without `cosine_steps` the rate stays at `lr` after warm-up.
mlir::Value buildLearningRate(mlir::ImplicitLocOpBuilder &builder, mlir::Value iteration, OptimizerAttr optimizer);

/// Builds 1 − betaᵗ for the one-based `step` t (tensor<f64>).
mlir::Value buildBiasCorrection(mlir::ImplicitLocOpBuilder &builder, mlir::Value step, double beta);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LEARNINGRATE_H
