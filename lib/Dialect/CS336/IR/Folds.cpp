//===- Folds.cpp - Local algebra -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/Dialect/CommonFolders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cs336;

DenseElementsAttr cs336::getSplat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (auto floatType = dyn_cast<FloatType>(element)) {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return DenseElementsAttr::get(type, rounded);
  }
  if (element.isInteger(1))
    return DenseElementsAttr::get(type, value != 0);
  return DenseElementsAttr::get(type,
                                APInt(element.getIntOrFloatBitWidth(), static_cast<int64_t>(value), /*isSigned=*/true));
}

std::optional<APFloat> cs336::getSplat(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view->getOperand(0);
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>();
}

AutocastPolicy DivOp::getAutocastPolicy() {
  return getSplat(getLhs()) ? AutocastPolicy::Float32 : AutocastPolicy::Widest;
}

/// Returns whether `attribute` is a splat of exactly `value`. Negative zero is not zero: x + (−0) is x, but x + 0 is
/// not for x = −0.
static bool isSplatOf(Attribute attribute, double value) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(attribute);
  return splat && splat == getSplat(cast<RankedTensorType>(splat.getType()), value);
}

/// Returns whether the constant operands are floating-point. Folders of floats must not get attributes of integers, and
/// the reverse.
static bool holdsFloats(ArrayRef<Attribute> operands) {
  return llvm::any_of(operands, [](Attribute operand) {
    auto elements = dyn_cast_or_null<ElementsAttr>(operand);
    return elements && isa<FloatType>(elements.getElementType());
  });
}

template <typename FloatFn, typename IntFn>
static OpFoldResult foldSplats(ArrayRef<Attribute> operands, FloatFn &&onFloats, IntFn &&onInts) {
  if (holdsFloats(operands))
    return constFoldBinaryOp<FloatAttr, APFloat, void>(operands, onFloats);
  return constFoldBinaryOp<IntegerAttr, APInt, void>(operands, onInts);
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  if (holdsFloats(adaptor.getOperands()))
    return constFoldUnaryOp<FloatAttr, APFloat, void>(adaptor.getOperands(),
                                                      [](const APFloat &value) { return -value; });
  return constFoldUnaryOp<IntegerAttr, APInt, void>(adaptor.getOperands(), [](const APInt &value) { return -value; });
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(getType().getElementType());
  if (isSplatOf(adaptor.getRhs(), isFloat ? -0.0 : 0.0))
    return getLhs();
  return foldSplats(
      adaptor.getOperands(), [](APFloat a, const APFloat &b) { return a + b; },
      [](const APInt &a, const APInt &b) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0.0))
    return getLhs();
  return foldSplats(
      adaptor.getOperands(), [](APFloat a, const APFloat &b) { return a - b; },
      [](const APInt &a, const APInt &b) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  return foldSplats(
      adaptor.getOperands(), [](APFloat a, const APFloat &b) { return a * b; },
      [](const APInt &a, const APInt &b) { return a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  return constFoldBinaryOp<FloatAttr, APFloat, void>(adaptor.getOperands(),
                                                     [](APFloat a, const APFloat &b) { return a / b; });
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  if (isSplatOf(adaptor.getRhs(), 0.0))
    return getRhs();
  return constFoldBinaryOp<IntegerAttr, APInt, void>(adaptor.getOperands(),
                                                     [](const APInt &a, const APInt &b) { return a & b; });
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isSplatOf(adaptor.getRhs(), 0.0))
    return getLhs();
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getRhs();
  return constFoldBinaryOp<IntegerAttr, APInt, void>(adaptor.getOperands(),
                                                     [](const APInt &a, const APInt &b) { return a | b; });
}

OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return inner.getOperand();
  return constFoldUnaryOp<IntegerAttr, APInt, void>(adaptor.getOperands(), [](const APInt &value) { return ~value; });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getTrueValue() == getFalseValue())
    return getTrueValue();
  if (isSplatOf(adaptor.getPredicate(), 1.0))
    return getTrueValue();
  if (isSplatOf(adaptor.getPredicate(), 0.0))
    return getFalseValue();
  return {};
}

/// Returns whether every value of `from` is a value of `to`.
static bool isExtension(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  return fromFloat && toFloat && APFloat::isRepresentableBy(fromFloat.getFloatSemantics(), toFloat.getFloatSemantics());
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // An extension is exact, so the next cast can start from the narrow value. A truncation is not.
  auto inner = getOperand().getDefiningOp<CastOp>();
  if (inner && isExtension(inner.getOperand().getType().getElementType(), inner.getType().getElementType())) {
    setOperand(inner.getOperand());
    return getResult();
  }
  // Converts splats between floating-point types with the rounding of the operation.
  auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand());
  auto type = dyn_cast<FloatType>(getType().getElementType());
  if (!splat || !type || !isa<FloatType>(splat.getElementType()))
    return {};
  APFloat value = splat.getSplatValue<APFloat>();
  bool losesInfo;
  // Kernels round from float64 to 16 bits by way of float32.
  if (splat.getElementType().isF64())
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return DenseElementsAttr::get(cast<ShapedType>(getType()), value);
}

//===----------------------------------------------------------------------===//
// Sources and layout
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// Folds a layout operation of a splat to a splat.
static OpFoldResult foldSplatLayout(Attribute operand, Type result) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(operand))
    return splat.resizeSplat(cast<ShapedType>(result));
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return foldSplatLayout(adaptor.getOperand(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    if (inner.getOperand().getType() == getType())
      return inner.getOperand();
    setOperand(inner.getOperand());
    return getResult();
  }
  return foldSplatLayout(adaptor.getOperand(), getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t axis : getPerm())
      composed.push_back(inner.getPerm()[axis]);
    setPerm(composed);
    setOperand(inner.getOperand());
    return getResult();
  }
  return foldSplatLayout(adaptor.getOperand(), getType());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return foldSplatLayout(adaptor.getOperand(), getType());
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getOperands().size() == 1 ? OpFoldResult(getOperands().front()) : OpFoldResult();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // A reduction without a gradient is not the same as its operand.
  return getAxes().empty() && !getStopGradient() ? OpFoldResult(getOperand()) : OpFoldResult();
}
