//===- Softmax.cpp - Softmax and its gradient -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarConversion.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace cs336;

using Lowered = FailureOr<SmallVector<Value>>;

/// Kernels keep the exponentials of a row in a workspace. Those of longer rows are computed twice.
static constexpr int64_t kLongestStoredRow = 1 << 16;

//===----------------------------------------------------------------------===//
// Verification, cost, derivative
//===----------------------------------------------------------------------===//

template <typename RowOp>
static LogicalResult verifyRows(RowOp op) {
  ArrayRef<int64_t> shape = tensorType(op.getResult()).getShape();
  if (shape.empty())
    return op.emitOpError() << "requires a tensor of rank 1 or more";
  if (!op.getScale().isFinite())
    return op.emitOpError() << "scale must be finite";
  if (!op.getMask())
    return success();
  ArrayRef<int64_t> mask = tensorType(op.getMask()).getShape();
  if (mask.empty() || mask.size() > shape.size() || mask != shape.take_back(mask.size()))
    return op.emitOpError() << "the mask's shape must be that of the last axes of " << op.getResult().getType()
                            << ", is " << op.getMask().getType();
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyRows(*this); }
LogicalResult SoftmaxBackwardOp::verify() { return verifyRows(*this); }

template <typename RowOp>
static int64_t countFlops(RowOp op, int64_t flopsPerElement) {
  flopsPerElement += !op.getScale().isExactlyValue(1.0);
  flopsPerElement += op.getMask() != nullptr;
  return flopsPerElement * tensorType(op.getResult()).getNumElements();
}

int64_t SoftmaxOp::getFlops() { return countFlops(*this, 5); }
int64_t SoftmaxBackwardOp::getFlops() { return countFlops(*this, 4); }

LogicalResult SoftmaxOp::buildAdjoint(OpBuilder &builder, ValueRange gradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      SoftmaxBackwardOp::create(builder, getLoc(), getResult(), gradients[0], getMask(), getScaleAttr()));
  if (getMask())
    operandGradients.push_back(nullptr);
  return success();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
/// Builds `linalg.generic` over the elements of a tensor. Bodies receive scalars in the compute type, and the element
/// of the result last.
class RowBuilder {
public:
  using Body = function_ref<Value(OpBuilder &, ValueRange)>;

  RowBuilder(OpBuilder &builder, Location loc, RankedTensorType type)
      : builder(builder), loc(loc), type(type), compute(getComputeType(type.getElementType())) {}

  /// Creates a tensor of rows or, without the last axis, a tensor of values per row.
  Value elements() { return empty(type.getShape()); }
  Value rows() { return empty(type.getShape().drop_back()); }

  /// Computes every element of `init` from those of `inputs`: whole tensors, masks of their last axes, or values per
  /// row.
  Value parallel(ValueRange inputs, Value init, Body body) { return build(inputs, init, body); }
  /// Combines the results of `body` for the elements of a row.
  template <typename CombineOp>
  Value reduce(ValueRange inputs, double neutral, arith::FastMathFlags flags, Body body) {
    Value start = build({}, rows(), [&](OpBuilder &b, ValueRange) { return constant(b, neutral); });
    return build(inputs, start, [&](OpBuilder &b, ValueRange scalars) -> Value {
      return CombineOp::create(b, loc, body(b, scalars.drop_back()), scalars.back(), flags);
    });
  }

  Value constant(OpBuilder &b, double value) const {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(compute, value));
  }
  /// Returns `value`, times `factor` if that is not 1.
  Value scale(OpBuilder &b, Value value, const APFloat &factor) const {
    if (factor.isExactlyValue(1.0))
      return value;
    return arith::MulFOp::create(b, loc, value, constant(b, factor.convertToDouble()));
  }

private:
  Value empty(ArrayRef<int64_t> shape) { return tensor::EmptyOp::create(builder, loc, shape, compute); }
  AffineMap getMap(Value value, int64_t loops) const;
  Value build(ValueRange inputs, Value init, Body body);

  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
  Type compute;
};
} // namespace

/// Returns the indexing map of `value`. Masks have the last axes of the loops, all other values the first.
AffineMap RowBuilder::getMap(Value value, int64_t loops) const {
  AffineMap identity = builder.getMultiDimIdentityMap(loops);
  int64_t rank = tensorType(value).getRank();
  bool isMask = tensorType(value).getElementType().isInteger(1);
  return AffineMap::get(loops, 0,
                        isMask ? identity.getResults().take_back(rank) : identity.getResults().take_front(rank),
                        builder.getContext());
}

/// Loops over the elements of the first input, or of `init` if there is none.
Value RowBuilder::build(ValueRange inputs, Value init, Body body) {
  int64_t rank = tensorType(inputs.empty() ? init : inputs.front()).getRank();
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(getMap(input, rank));
  maps.push_back(getMap(init, rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t axis = tensorType(init).getRank(); axis < rank; ++axis)
    iterators[axis] = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators, [&](OpBuilder &b, Location l, ValueRange scalars) {
        SmallVector<Value> operands;
        for (Value scalar : scalars.drop_back())
          operands.push_back(scalar.getType().isInteger(1) ? scalar : convertScalar(b, l, scalar, compute));
        operands.push_back(scalars.back());
        linalg::YieldOp::create(b, l, convertScalar(b, l, body(b, operands), scalars.back().getType()));
      });
  return generic.getResult(0);
}

FusionKind SoftmaxOp::getFusionKind() { return FusionKind::RowReduction; }

Lowered SoftmaxOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Location loc = getLoc();
  RowBuilder rows(builder, loc, tensorType(inputs.front()));
  bool isMasked = getMask() != nullptr;
  // Computes a logit from an element, and from the mask if there is one.
  auto buildLogit = [&](OpBuilder &b, ValueRange scalars) -> Value {
    Value scaled = rows.scale(b, scalars[0], getScale());
    if (!isMasked)
      return scaled;
    Value hidden = rows.constant(b, -std::numeric_limits<double>::infinity());
    return arith::SelectOp::create(b, loc, scalars[1], scaled, hidden);
  };
  Value maximum = rows.reduce<arith::MaximumFOp>(inputs, -std::numeric_limits<double>::infinity(),
                                                 arith::FastMathFlags::none, buildLogit);

  SmallVector<Value> shiftedInputs(inputs);
  shiftedInputs.push_back(maximum);
  auto buildExponential = [&](OpBuilder &b, ValueRange scalars) -> Value {
    Value shifted = arith::SubFOp::create(b, loc, buildLogit(b, scalars), scalars[inputs.size()]);
    return math::ExpOp::create(b, loc, shifted);
  };
  auto buildItself = [](OpBuilder &, ValueRange scalars) { return scalars.front(); };
  if (getType().getShape().back() > kLongestStoredRow) {
    Value sum = rows.reduce<arith::AddFOp>(shiftedInputs, 0.0, arith::FastMathFlags::reassoc, buildExponential);
    shiftedInputs.push_back(sum);
    return SmallVector<Value>{
        rows.parallel(shiftedInputs, inits.front(), [&](OpBuilder &b, ValueRange scalars) -> Value {
          return arith::DivFOp::create(b, loc, buildExponential(b, scalars), scalars[shiftedInputs.size() - 1]);
        })};
  }
  Value exponentials = rows.parallel(shiftedInputs, rows.elements(), buildExponential);
  Value sum = rows.reduce<arith::AddFOp>(exponentials, 0.0, arith::FastMathFlags::reassoc, buildItself);
  return SmallVector<Value>{
      rows.parallel({exponentials, sum}, inits.front(), [&](OpBuilder &b, ValueRange scalars) -> Value {
        return arith::DivFOp::create(b, loc, scalars[0], scalars[1]);
      })};
}

FusionKind SoftmaxBackwardOp::getFusionKind() { return FusionKind::RowReduction; }

Lowered SoftmaxBackwardOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Location loc = getLoc();
  RowBuilder rows(builder, loc, tensorType(inputs.front()));
  Value sum = rows.reduce<arith::AddFOp>(
      inputs.take_front(2), 0.0, arith::FastMathFlags::reassoc,
      [&](OpBuilder &b, ValueRange scalars) -> Value { return arith::MulFOp::create(b, loc, scalars[0], scalars[1]); });
  SmallVector<Value> operands(inputs);
  operands.push_back(sum);
  return SmallVector<Value>{rows.parallel(operands, inits.front(), [&](OpBuilder &b, ValueRange scalars) -> Value {
    Value centred = arith::SubFOp::create(b, loc, scalars[1], scalars[operands.size() - 1]);
    Value gradient = rows.scale(b, arith::MulFOp::create(b, loc, scalars[0], centred), getScale());
    if (!getMask())
      return gradient;
    return arith::SelectOp::create(b, loc, scalars[2], gradient, rows.constant(b, 0.0));
  })};
}
