//===- LossScaling.h - The loss scale after a step --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LOSSSCALING_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LOSSSCALING_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cs336 {

/// State of a step with dynamic loss scaling, all of rank 0.
struct ScaledStep {
  /// f32: the factor of the loss before it is differentiated.
  mlir::Value scale;
  /// i32: steps since the scale last changed.
  mlir::Value growthTracker;
  /// i64: the number of updates so far, and that number plus one (null after the step).
  mlir::Value step, nextStep;
};

/// Returns the argument that holds the loss scale, or null if there is none. Fails with an error if its type is not
/// tensor<f32>.
mlir::FailureOr<mlir::Value> findLossScale(mlir::func::FuncOp function);

/// Builds one kernel that computes the state after a step. If `apply` (i1) is false, the scale shrinks and the other
/// state stays the same. After `interval` good steps the scale grows, unless it would become infinite.
ScaledStep buildNextStep(mlir::ImplicitLocOpBuilder &b, mlir::Value apply, const ScaledStep &before,
                         LossScalingAttr scaling);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LOSSSCALING_H
