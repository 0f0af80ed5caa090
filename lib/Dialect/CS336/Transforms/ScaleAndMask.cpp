//===- ScaleAndMask.cpp - What stands between scores and a softmax --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleAndMask.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace cs336;

static bool isMask(Value value) { return tensorType(value).getElementType().isInteger(1); }

std::optional<double> cs336::getSplatNumber(Value value) {
  std::optional<APFloat> number = getSplat(value);
  if (!number)
    return std::nullopt;
  bool losesInfo;
  number->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number->convertToDouble();
}

static bool isHidden(Value value) { return getSplatNumber(value) == -std::numeric_limits<double>::infinity(); }
static bool isZero(Value value) { return getSplatNumber(value) == 0.0; }

//===----------------------------------------------------------------------===//
// Scale
//===----------------------------------------------------------------------===//

bool cs336::fitsFloat32(double factor) {
  auto rounded = static_cast<float>(factor);
  return std::isfinite(rounded) && (rounded != 0) == (factor != 0);
}

std::optional<Scaling> cs336::matchScaling(Operation *op) {
  if (auto add = dyn_cast<AddOp>(op)) {
    // Adding zeros is a mask that hides nothing.
    if (isZero(add.getRhs()))
      return Scaling{add.getLhs(), 1.0};
    if (isZero(add.getLhs()))
      return Scaling{add.getRhs(), 1.0};
  }
  if (!isa<MulOp, DivOp>(op))
    return std::nullopt;
  Value operand = op->getOperand(0);
  std::optional<double> factor = getSplatNumber(op->getOperand(1));
  if (isa<DivOp>(op) && factor) {
    factor = 1.0 / *factor;
  } else if (isa<MulOp>(op) && !factor) {
    operand = op->getOperand(1);
    factor = getSplatNumber(op->getOperand(0));
  }
  if (!factor || !fitsFloat32(*factor))
    return std::nullopt;
  return Scaling{operand, *factor};
}

//===----------------------------------------------------------------------===//
// Mask
//===----------------------------------------------------------------------===//

/// Returns whether `value` is 0 or −∞ everywhere, and not 0 alone.
static bool isBias(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view->getOperand(0);
  if (auto select = value.getDefiningOp<SelectOp>())
    return (isHidden(select.getTrueValue()) && isZero(select.getFalseValue())) ||
           (isZero(select.getTrueValue()) && isHidden(select.getFalseValue()));
  DenseFPElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)))
    return false;
  auto isInfinite = [](const APFloat &number) { return number.isInfinity() && number.isNegative(); };
  // A splat may have too many elements to visit them one by one.
  if (elements.isSplat())
    return isInfinite(elements.getSplatValue<APFloat>());
  return llvm::any_of(elements, isInfinite) &&
         llvm::all_of(elements, [&](const APFloat &number) { return number.isZero() || isInfinite(number); });
}

std::optional<Masking> cs336::matchMasking(Operation *op) {
  if (auto select = dyn_cast<SelectOp>(op)) {
    if (isHidden(select.getFalseValue()))
      return Masking{select.getTrueValue(), select.getPredicate(), /*hidesTrue=*/false};
    if (isHidden(select.getTrueValue()))
      return Masking{select.getFalseValue(), select.getPredicate(), /*hidesTrue=*/true};
  } else if (auto add = dyn_cast<AddOp>(op)) {
    if (isBias(add.getRhs()))
      return Masking{add.getLhs(), add.getRhs()};
    if (isBias(add.getLhs()))
      return Masking{add.getRhs(), add.getLhs()};
  }
  return std::nullopt;
}

std::optional<Masking> cs336::matchMaskedGradient(Operation *op) {
  auto select = dyn_cast<SelectOp>(op);
  if (select && isZero(select.getFalseValue()))
    return Masking{select.getTrueValue(), select.getPredicate(), /*hidesTrue=*/false};
  if (select && isZero(select.getTrueValue()))
    return Masking{select.getFalseValue(), select.getPredicate(), /*hidesTrue=*/true};
  return std::nullopt;
}

/// Returns the predicate that holds exactly if the comparison does not, or nullopt if both are false for NaN.
static std::optional<Predicate> getOpposite(CompareOp compare) {
  bool isOrdered = isa<IntegerType>(tensorType(compare.getLhs()).getElementType());
  switch (compare.getPredicate()) {
  case Predicate::EQ:
    return Predicate::NE;
  case Predicate::NE:
    return Predicate::EQ;
  case Predicate::LT:
    return isOrdered ? std::optional(Predicate::GE) : std::nullopt;
  case Predicate::LE:
    return isOrdered ? std::optional(Predicate::GT) : std::nullopt;
  case Predicate::GT:
    return isOrdered ? std::optional(Predicate::LE) : std::nullopt;
  case Predicate::GE:
    return isOrdered ? std::optional(Predicate::LT) : std::nullopt;
  }
  llvm_unreachable("every predicate has a case");
}

static Value buildNot(OpBuilder &builder, Location loc, Value mask) {
  if (auto compare = mask.getDefiningOp<CompareOp>())
    if (std::optional<Predicate> opposite = getOpposite(compare))
      return CompareOp::create(builder, loc, *opposite, compare.getLhs(), compare.getRhs());
  Value no = ConstantOp::create(builder, loc, tensorType(mask), 0.0);
  Value yes = ConstantOp::create(builder, loc, tensorType(mask), 1.0);
  return SelectOp::create(builder, loc, mask, no, yes);
}

static Value buildMaskWithoutViews(OpBuilder &builder, Location loc, Value selector, bool hidesTrue) {
  if (isMask(selector))
    return hidesTrue ? buildNot(builder, loc, selector) : selector;
  auto elements = cast<DenseFPElementsAttr>(selector.getDefiningOp<ConstantOp>().getValue());
  DenseElementsAttr visible = elements.mapValues(
      builder.getI1Type(), [](const APFloat &number) { return APInt(/*numBits=*/1, number.isZero()); });
  return ConstantOp::create(builder, loc, visible.getType(), visible);
}

/// Builds the mask from the selector. Layout operations on the selector are also applied to its replacement.
static Value buildMask(OpBuilder &builder, Location loc, Value selector, bool hidesTrue) {
  SmallVector<Operation *> views;
  while (!isMask(selector) || hidesTrue) {
    if (auto view = selector.getDefiningOp<ViewOpInterface>()) {
      views.push_back(view);
      selector = view->getOperand(0);
    } else if (auto select = selector.getDefiningOp<SelectOp>(); select && !isMask(selector)) {
      selector = select.getPredicate();
      hidesTrue = isHidden(select.getTrueValue());
    } else {
      break;
    }
  }
  Value mask = buildMaskWithoutViews(builder, loc, selector, hidesTrue);
  for (Operation *view : llvm::reverse(views)) {
    IRMapping mapping;
    mapping.map(view->getOperand(0), mask);
    Operation *copy = builder.clone(*view, mapping);
    mask = copy->getResult(0);
    mask.setType(tensorType(view->getResult(0)).clone(builder.getI1Type()));
  }
  return mask;
}

Value cs336::buildVisible(OpBuilder &builder, Location loc, const Masking &masking) {
  Value selector = masking.selector;
  while (auto broadcast = selector.getDefiningOp<BroadcastOp>()) {
    int64_t rank = broadcast.getType().getRank(), kept = broadcast.getDims().size();
    if (kept == 0 || !llvm::equal(broadcast.getDims(), llvm::seq<int64_t>(rank - kept, rank)))
      break;
    selector = broadcast.getOperand();
  }
  return buildMask(builder, loc, selector, masking.hidesTrue);
}
