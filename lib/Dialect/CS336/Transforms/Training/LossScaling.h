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
  /// f32: what the loss is multiplied by before it is differentiated.
  mlir::Value scale;
  /// i32: steps since the scale last changed.
  mlir::Value growthTracker;
  /// i64: updates made, and what that is after one more (null afterwards).
  mlir::Value step, nextStep;
};

/// The argument that holds the loss scale, or null if there is none. Fails, with an error, if its type is another than
/// tensor<f32>.
mlir::FailureOr<mlir::Value> findLossScale(mlir::func::FuncOp function);

/// Builds one kernel that computes the state after a step: where `apply` (i1) is false, the scale backs off and nothing
/// else has happened; after `interval` good steps it grows, unless it would be infinite.
ScaledStep buildNextStep(mlir::ImplicitLocOpBuilder &b, mlir::Value apply, const ScaledStep &before,
                         LossScalingAttr scaling);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_LOSSSCALING_H
