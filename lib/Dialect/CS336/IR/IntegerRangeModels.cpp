//===- IntegerRangeModels.cpp - Ranges of the dialect's results -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer ranges of operations that compute integers from integers. Arithmetic wraps around, so a sum that may overflow
// can be any integer. A conversion from floating point to integers has no range: see IntegerRanges::get.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"

using namespace mlir;
using namespace cs336;

using Ranges = ArrayRef<ConstantIntRanges>;

static unsigned widthOf(Value value) { return ConstantIntRanges::getStorageBitwidth(value.getType()); }
static ConstantIntRanges anyOf(Value value) { return ConstantIntRanges::maxRange(widthOf(value)); }

/// Returns the smallest range that contains all of `ranges`.
static ConstantIntRanges unite(Ranges ranges) {
  ConstantIntRanges all = ranges.front();
  for (const ConstantIntRanges &range : ranges.drop_front())
    all = all.rangeUnion(range);
  return all;
}

namespace {
/// An operation with one result, whose range is `InferredBy::infer(op, ranges of the operands)`.
template <typename OpT, typename InferredBy>
struct Model : InferIntRangeInterface::ExternalModel<Model<OpT, InferredBy>, OpT> {
  void inferResultRanges(Operation *op, Ranges operands, SetIntRangeFn setRange) const {
    setRange(op->getResult(0), InferredBy::infer(cast<OpT>(op), operands));
  }

  void inferResultRangesFromOptional(Operation *op, ArrayRef<IntegerValueRange> operands,
                                     SetIntLatticeFn setRange) const {
    SmallVector<ConstantIntRanges> ranges;
    for (const IntegerValueRange &operand : operands) {
      if (operand.isUninitialized())
        return;
      ranges.push_back(operand.getValue());
    }
    setRange(op->getResult(0), IntegerValueRange(InferredBy::infer(cast<OpT>(op), ranges)));
  }
};

/// The result's elements are elements of the operands.
struct OperandElements {
  static ConstantIntRanges infer(Operation *, Ranges operands) { return unite(operands); }
};

/// The result's elements are elements of the operands, or 0.
struct OperandElementsOrZero {
  static ConstantIntRanges infer(PadOp op, Ranges operands) {
    return operands.front().rangeUnion(ConstantIntRanges::constant(APInt::getZero(widthOf(op.getResult()))));
  }
};

struct Elements {
  static ConstantIntRanges infer(ConstantOp op, Ranges) {
    auto elements = dyn_cast<DenseIntElementsAttr>(op.getValue());
    if (!elements || elements.empty())
      return anyOf(op.getResult());
    if (elements.isSplat())
      return ConstantIntRanges::constant(elements.getSplatValue<APInt>());
    APInt least = *elements.value_begin<APInt>(), most = least;
    for (const APInt &element : elements.getValues<APInt>()) {
      least = llvm::APIntOps::smin(least, element);
      most = llvm::APIntOps::smax(most, element);
    }
    return ConstantIntRanges::fromSigned(least, most);
  }
};

struct Positions {
  static ConstantIntRanges infer(IotaOp op, Ranges) {
    int64_t size = op.getResult().getType().getDimSize(op.getAxis());
    bool fits = size >= 1 && APInt::getSignedMaxValue(widthOf(op.getResult())).getSExtValue() >= size - 1;
    return fits ? getRangeBelow(op.getResult().getType(), size) : anyOf(op.getResult());
  }
};

struct Combination {
  static ConstantIntRanges infer(ReduceOp op, Ranges operands) {
    RankedTensorType from = op.getOperand().getType();
    APInt terms(64, 1);
    bool overflows = false;
    for (int64_t axis : op.getAxes())
      terms = terms.smul_ov(APInt(64, from.getDimSize(axis)), overflows);
    unsigned width = widthOf(op.getResult());
    // The maximum of an empty set is the smallest integer.
    if (overflows || terms.isZero() || !terms.isSignedIntN(width))
      return anyOf(op.getResult());
    if (op.getKind() == ReduceKind::Max)
      return operands.front();
    return intrange::inferMul({operands.front(), ConstantIntRanges::constant(terms.trunc(width))});
  }
};

struct Negation {
  static ConstantIntRanges infer(NegOp op, Ranges operands) {
    return intrange::inferSub({ConstantIntRanges::constant(APInt::getZero(widthOf(op.getResult()))), operands.front()});
  }
};

/// Two's complement arithmetic, which may wrap around.
template <ConstantIntRanges (*inferRange)(Ranges, intrange::OverflowFlags)>
struct Arithmetic {
  static ConstantIntRanges infer(Operation *, Ranges operands) {
    return inferRange(operands, intrange::OverflowFlags::None);
  }
};

template <ConstantIntRanges (*inferRange)(Ranges)>
struct OfOperands {
  static ConstantIntRanges infer(Operation *, Ranges operands) { return inferRange(operands); }
};

struct Complement {
  static ConstantIntRanges infer(NotOp op, Ranges operands) {
    return intrange::inferXor(
        {operands.front(), ConstantIntRanges::constant(APInt::getAllOnes(widthOf(op.getResult())))});
  }
};

struct Choice {
  static ConstantIntRanges infer(SelectOp, Ranges operands) { return unite(operands.drop_front()); }
};

/// Extends i1 with zeros and other integers with their sign. To i1, every integer but 0 becomes 1.
struct Conversion {
  static ConstantIntRanges infer(CastOp op, Ranges operands) {
    unsigned from = widthOf(op.getOperand()), to = widthOf(op.getResult());
    if (from == to)
      return operands.front();
    if (from == 1)
      return intrange::extUIRange(operands.front(), to);
    if (to == 1)
      return anyOf(op.getResult());
    return from < to ? intrange::extSIRange(operands.front(), to) : intrange::truncRange(operands.front(), to);
  }
};

/// The range is [0, bound), whatever the range of the operand.
struct CheckModel : InferIntRangeInterface::ExternalModel<CheckModel, CheckBoundOp> {
  void inferResultRanges(Operation *op, Ranges, SetIntRangeFn setRange) const {
    auto check = cast<CheckBoundOp>(op);
    setRange(check.getResult(), getRangeBelow(check.getResult().getType(), check.getBound()));
  }

  void inferResultRangesFromOptional(Operation *op, ArrayRef<IntegerValueRange>, SetIntLatticeFn setRange) const {
    inferResultRanges(
        op, {}, [&](Value result, const ConstantIntRanges &range) { setRange(result, IntegerValueRange(range)); });
  }
};

/// A comparison of floating-point numbers can have both results. One of integers has a known result only if their
/// ranges are known.
struct ComparisonModel : InferIntRangeInterface::ExternalModel<ComparisonModel, CompareOp> {
  void inferResultRanges(Operation *op, Ranges, SetIntRangeFn setRange) const {
    setRange(op->getResult(0), anyOf(op->getResult(0)));
  }

  void inferResultRangesFromOptional(Operation *op, ArrayRef<IntegerValueRange> operands,
                                     SetIntLatticeFn setRange) const {
    auto isKnown = [](auto pair) { return widthOf(std::get<0>(pair)) == 0 || !std::get<1>(pair).isUninitialized(); };
    if (llvm::all_of(llvm::zip_equal(op->getOperands(), operands), isKnown))
      setRange(op->getResult(0), IntegerValueRange(anyOf(op->getResult(0))));
  }
};
} // namespace

template <typename InferredBy, typename... Ops>
static void attach(MLIRContext &context) {
  (Ops::template attachInterface<Model<Ops, InferredBy>>(context), ...);
}

void cs336::attachIntegerRangeModels(MLIRContext &context) {
  attach<OperandElements, BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp, BarrierOp>(context);
  attach<OperandElementsOrZero, PadOp>(context);
  attach<Elements, ConstantOp>(context);
  attach<Positions, IotaOp>(context);
  attach<Combination, ReduceOp>(context);
  attach<Negation, NegOp>(context);
  attach<Arithmetic<intrange::inferAdd>, AddOp>(context);
  attach<Arithmetic<intrange::inferSub>, SubOp>(context);
  attach<Arithmetic<intrange::inferMul>, MulOp>(context);
  attach<OfOperands<intrange::inferMaxS>, MaxOp>(context);
  attach<OfOperands<intrange::inferMinS>, MinOp>(context);
  attach<OfOperands<intrange::inferAnd>, AndOp>(context);
  attach<OfOperands<intrange::inferOr>, OrOp>(context);
  attach<Complement, NotOp>(context);
  attach<Choice, SelectOp>(context);
  attach<Conversion, CastOp>(context);
  CheckBoundOp::attachInterface<CheckModel>(context);
  CompareOp::attachInterface<ComparisonModel>(context);
}
