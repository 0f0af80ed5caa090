//===- IntegerRanges.cpp - Ranges of the integers in tensors --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/IntegerRanges.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

using namespace mlir;
using namespace cs336;

static bool holdsIntegers(Value value) { return ConstantIntRanges::getStorageBitwidth(value.getType()) != 0; }

bool cs336::isWithin(const IntegerValueRange &range, int64_t bound) {
  if (range.isUninitialized())
    return false;
  return range.getValue().smin().isNonNegative() && range.getValue().smax().getSExtValue() < bound;
}

ConstantIntRanges cs336::getRangeBelow(Type type, int64_t bound) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(type);
  APInt largest = APInt::getSignedMaxValue(width);
  if (largest.getSExtValue() >= bound)
    largest = APInt(width, bound - 1);
  return ConstantIntRanges::fromSigned(APInt::getZero(width), largest);
}

/// Returns the value that contains all elements of `value`, inside or outside a group, or null if there is none.
static Value getAlias(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto group = dyn_cast_or_null<FusedOp>(argument.getOwner()->getParentOp());
    return group ? group->getOperand(argument.getArgNumber()) : Value();
  }
  auto group = value.getDefiningOp<FusedOp>();
  if (!group)
    return {};
  return group.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
}

/// Returns the values that the range of `value` depends on.
static SmallVector<Value> getSources(Value value) {
  if (Value alias = getAlias(value))
    return {alias};
  auto op = value.getDefiningOp<InferIntRangeInterface>();
  if (!op)
    return {};
  return llvm::to_vector(llvm::make_filter_range(op->getOperands(), holdsIntegers));
}

IntegerValueRange IntegerRanges::lookUp(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? IntegerValueRange() : found->second;
}

IntegerValueRange IntegerRanges::infer(Value value) const {
  if (Value alias = getAlias(value))
    return lookUp(alias);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentRanges(argument);
  auto op = value.getDefiningOp<InferIntRangeInterface>();
  if (!op)
    return IntegerValueRange();
  SmallVector<IntegerValueRange> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookUp(operand));
  IntegerValueRange range;
  op.inferResultRangesFromOptional(operands, [&](Value result, const IntegerValueRange &inferred) {
    if (result == value)
      range = inferred;
  });
  return range;
}

IntegerValueRange IntegerRanges::get(Value value) {
  // A value is visited twice: before its sources and after them. Unverified IR may have cycles, whose values are
  // visited in some order and are unknown to each other.
  SmallVector<Value> pending{value};
  llvm::DenseSet<Value> visited;
  while (!pending.empty()) {
    Value next = pending.back();
    if (known.contains(next)) {
      pending.pop_back();
    } else if (!holdsIntegers(next)) {
      known[next] = IntegerValueRange();
    } else if (visited.insert(next).second) {
      for (Value source : getSources(next))
        if (!visited.contains(source))
          pending.push_back(source);
    } else {
      IntegerValueRange range = infer(next);
      known[next] = range;
    }
  }
  return lookUp(value);
}
