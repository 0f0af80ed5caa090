//===- LearningRate.cpp - Scalars of an optimizer step --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;

static Value scalar(ImplicitLocOpBuilder &b, double value) {
  return ConstantOp::create(b, RankedTensorType::get({}, b.getF64Type()), value);
}

Value cs336::buildLearningRate(ImplicitLocOpBuilder &b, Value iteration, OptimizerAttr optimizer) {
  double lr = optimizer.getLr(), minLR = optimizer.getMinLr();
  double warmup = static_cast<double>(optimizer.getWarmupSteps());
  double cosine = static_cast<double>(optimizer.getCosineSteps());

  Value rate = scalar(b, lr);
  if (cosine > 0) {
    Value elapsed = SubOp::create(b, iteration, scalar(b, warmup));
    Value progress = MulOp::create(b, elapsed, scalar(b, llvm::numbers::pi / (cosine - warmup)));
    Value height = CosOp::create(b, progress);
    height = AddOp::create(b, height, scalar(b, 1.0));
    Value annealed = MulOp::create(b, height, scalar(b, 0.5 * (lr - minLR)));
    annealed = AddOp::create(b, annealed, scalar(b, minLR));
    Value isOver = CompareOp::create(b, Predicate::GT, iteration, scalar(b, cosine));
    rate = SelectOp::create(b, isOver, scalar(b, minLR), annealed);
  }
  if (warmup > 0) {
    Value warming = MulOp::create(b, iteration, scalar(b, lr / warmup));
    Value isWarming = CompareOp::create(b, Predicate::LT, iteration, scalar(b, warmup));
    rate = SelectOp::create(b, isWarming, warming, rate);
  }
  return rate;
}

Value cs336::buildBiasCorrection(ImplicitLocOpBuilder &b, Value step, double beta) {
  Value power = PowOp::create(b, scalar(b, beta), step);
  return SubOp::create(b, scalar(b, 1.0), power);
}
