//===- ExactIntegers.cpp - Integer arithmetic that never wraps ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cs336;

/// Returns whether the exact result of a sum, a difference or a multiplication always fits into its type.
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

void cs336::markExactIntegers(Block &block, IntegerRanges &ranges) {
  for (Operation &each : block)
    llvm::TypeSwitch<Operation *>(&each).Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([&](auto op) {
      IntegerValueRange lhs = ranges.get(op.getLhs()), rhs = ranges.get(op.getRhs());
      bool isKnown = !op.getType().isIndex() && !lhs.isUninitialized() && !rhs.isUninitialized();
      if (isKnown && isExact(op, {lhs.getValue(), rhs.getValue()}))
        op.setOverflowFlags(op.getOverflowFlags() | arith::IntegerOverflowFlags::nsw);
    });
}
