//===- LaneBuilder.cpp - Scalar code for several iterations at once -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneBuilder.h"

#include "VectorLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace cs336::cpu;

Value LaneBuilder::widen(Location loc, Value value) {
  if (lanes == 1 || isVector(value))
    return value;
  return builder.createOrFold<vector::BroadcastOp>(loc, VectorType::get(lanes, value.getType()), value);
}

Value LaneBuilder::count(Location loc, Value first) {
  if (lanes == 1)
    return first;
  Value step = vector::StepOp::create(builder, loc, VectorType::get(lanes, builder.getIndexType()));
  return arith::AddIOp::create(builder, loc, widen(loc, first), step);
}

Value LaneBuilder::first(Location loc, Value vector) {
  return lanes == 1 ? vector : vector::ExtractOp::create(builder, loc, vector, 0);
}

void LaneBuilder::clone(Operation &op, IRMapping &mapping) {
  auto operands = llvm::map_to_vector(op.getOperands(), [&](Value operand) { return mapping.lookup(operand); });
  bool isWide = llvm::any_of(operands, isVector);
  if (isWide)
    for (Value &operand : operands)
      operand = widen(op.getLoc(), operand);
  Operation *copy = builder.clone(op, mapping);
  if (!isWide)
    return;
  copy->setOperands(operands);
  for (Value result : copy->getResults())
    result.setType(VectorType::get(lanes, result.getType()));
}

Value LaneBuilder::reduce(Operation *combiner, Value vector) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(combiner);
  auto flags = math ? math.getFastMathFlagsAttr().getValue() : arith::FastMathFlags::none;
  return vector::ReductionOp::create(builder, combiner->getLoc(), *getCombiningKind(combiner), vector, flags);
}

Value LaneBuilder::load(Location loc, unsigned storage, Value index, int64_t stride) {
  if (lanes == 1 || stride == 0)
    return memory.load(loc, storage, index);
  return memory.loadVector(loc, storage, index, stride, lanes);
}

void LaneBuilder::store(Location loc, Value value, unsigned storage, Value index) {
  if (lanes == 1)
    memory.store(loc, value, storage, index);
  else
    memory.storeVector(loc, widen(loc, value), storage, index);
}
