//===- LossScaling.cpp - The loss scale after a step ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossScaling.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include <limits>

using namespace mlir;
using namespace cs336;

static Value constantLike(ImplicitLocOpBuilder &b, Value value, double number) {
  return ConstantOp::create(b, cast<RankedTensorType>(value.getType()), number);
}

FailureOr<Value> cs336::findLossScale(func::FuncOp function) {
  std::optional<unsigned> index = findArgument(function, port::kState, state::kLossScale);
  if (!index)
    return Value();
  Value scale = function.getArgument(*index);
  if (scale.getType() != RankedTensorType::get({}, Float32Type::get(function.getContext())))
    return function.emitOpError() << "takes '" << state::kLossScale << "' as " << scale.getType()
                                  << ", must be tensor<f32>; --cs336-scale-loss adds it";
  return scale;
}

ScaledStep cs336::buildNextStep(ImplicitLocOpBuilder &b, Value apply, const ScaledStep &before,
                                LossScalingAttr scaling) {
  SmallVector<Value> inputs = {apply, before.scale, before.growthTracker, before.step, before.nextStep};
  auto fused = FusedOp::create(b, ValueRange(inputs).slice(1, 3).getTypes(), inputs);
  ImplicitLocOpBuilder::InsertionGuard guard(b);
  Block &body = fused.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  b.setInsertionPointToStart(&body);
  Value isGood = body.getArgument(0), scale = body.getArgument(1), tracker = body.getArgument(2),
        step = body.getArgument(3), nextStep = body.getArgument(4);

  Value counted = AddOp::create(b, tracker, constantLike(b, tracker, 1));
  Value interval = constantLike(b, tracker, static_cast<double>(scaling.getInterval()));
  Value isDue = CompareOp::create(b, Predicate::GE, counted, interval);
  Value grown = MulOp::create(b, scale, constantLike(b, scale, scaling.getGrowth()));
  Value isFinite =
      CompareOp::create(b, Predicate::LT, grown, constantLike(b, scale, std::numeric_limits<double>::infinity()));
  Value afterGood = SelectOp::create(b, isDue, SelectOp::create(b, isFinite, grown, scale), scale);
  Value afterBad = MulOp::create(b, scale, constantLike(b, scale, scaling.getBackoff()));
  Value zero = constantLike(b, tracker, 0);

  Value newScale = SelectOp::create(b, isGood, afterGood, afterBad);
  Value newTracker = SelectOp::create(b, isGood, SelectOp::create(b, isDue, zero, counted), zero);
  Value newStep = SelectOp::create(b, isGood, nextStep, step);
  YieldOp::create(b, ValueRange{newScale, newTracker, newStep});
  return {fused.getResult(0), fused.getResult(1), fused.getResult(2), nullptr};
}
