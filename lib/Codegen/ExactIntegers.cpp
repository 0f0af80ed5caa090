//===- ExactIntegers.cpp - Integer arithmetic that never wraps ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace {
/// Finds the ranges of a block's integers, from its first operation to its last.
class Marker {
public:
  explicit Marker(llvm::function_ref<std::optional<ConstantIntRanges>(Value)> getRange) : getRange(getRange) {}

  void visit(Operation &op);

private:
  ConstantIntRanges lookUp(Value value);

  llvm::function_ref<std::optional<ConstantIntRanges>(Value)> getRange;
  llvm::DenseMap<Value, ConstantIntRanges> known;
};
} // namespace

static bool isIntegral(Value value) { return value.getType().isIntOrIndex(); }

ConstantIntRanges Marker::lookUp(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (llvm::APInt constant; matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant);
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  return getRange(value).value_or(ConstantIntRanges::maxRange(width));
}

/// Returns whether the exact result of a sum, a difference or a product always fits into its type.
static bool isExact(Operation *op, ArrayRef<ConstantIntRanges> ranges) {
  unsigned width = ranges.front().smin().getBitWidth(), wide = 2 * width;
  auto widened = llvm::map_to_vector<2>(ranges, [&](const ConstantIntRanges &range) {
    return ConstantIntRanges::fromSigned(range.smin().sext(wide), range.smax().sext(wide));
  });
  ConstantIntRanges result =
      llvm::TypeSwitch<Operation *, ConstantIntRanges>(op)
          .Case([&](arith::AddIOp) { return intrange::inferAdd(widened, intrange::OverflowFlags::Nsw); })
          .Case([&](arith::SubIOp) { return intrange::inferSub(widened, intrange::OverflowFlags::Nsw); })
          .Case([&](arith::MulIOp) { return intrange::inferMul(widened, intrange::OverflowFlags::Nsw); });
  return result.smin().isSignedIntN(width) && result.smax().isSignedIntN(width);
}

void Marker::visit(Operation &op) {
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferable || !llvm::all_of(op.getOperands(), isIntegral) || !llvm::all_of(op.getResults(), isIntegral))
    return;
  auto ranges = llvm::map_to_vector(op.getOperands(), [&](Value operand) { return lookUp(operand); });
  bool isIndex = op.getNumResults() != 0 && op.getResult(0).getType().isIndex();
  llvm::TypeSwitch<Operation *>(&op).Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([&](auto sum) {
    if (!isIndex && isExact(sum, ranges))
      sum.setOverflowFlags(sum.getOverflowFlags() | arith::IntegerOverflowFlags::nsw);
  });
  inferable.inferResultRanges(ranges,
                              [&](Value result, const ConstantIntRanges &range) { known.insert({result, range}); });
}

void cs336::markExactIntegers(Block &block, llvm::function_ref<std::optional<ConstantIntRanges>(Value)> getRange) {
  Marker marker(getRange);
  for (Operation &op : block)
    marker.visit(op);
}
