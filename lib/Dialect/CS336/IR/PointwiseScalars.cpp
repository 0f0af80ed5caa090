//===- PointwiseScalars.cpp - One element of every pointwise operation ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarConversion.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cs336;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

Type cs336::getComputeType(Type type) {
  if (type.isBF16() || type.isF16())
    return Float32Type::get(type.getContext());
  return type;
}

static Value zeroOf(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

static Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  // bf16 and f16 convert from and to float32 only: conversions between them and with float64 go through float32.
  bool needsStep = (from == 16 && to != 32) || (to == 16 && from != 32);
  if (needsStep)
    return convertFloat(builder, loc, convertFloat(builder, loc, value, builder.getF32Type()), type);
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value cs336::convertScalar(OpBuilder &builder, Location loc, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(type))
    return convertFloat(builder, loc, value, type);
  if (type.isInteger(1)) {
    Value zero = zeroOf(builder, loc, from);
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, value, zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(builder, loc, type, convertScalar(builder, loc, value, getComputeType(from)));
  if (isa<FloatType>(type)) {
    Type compute = getComputeType(type);
    Value number = from.isInteger(1) ? arith::UIToFPOp::create(builder, loc, compute, value).getResult()
                                     : arith::SIToFPOp::create(builder, loc, compute, value).getResult();
    return convertScalar(builder, loc, number, type);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(builder, loc, type, value);
  return arith::TruncIOp::create(builder, loc, type, value);
}

//===----------------------------------------------------------------------===//
// Shapes of computations
//===----------------------------------------------------------------------===//

/// Runs `compute` on the scalars in their compute type, and converts its result back.
template <typename Compute>
static Value inComputeType(OpBuilder &builder, Location loc, ValueRange scalars, Compute compute) {
  Type type = scalars.front().getType();
  SmallVector<Value> widened;
  for (Value scalar : scalars)
    widened.push_back(convertScalar(builder, loc, scalar, getComputeType(type)));
  return convertScalar(builder, loc, compute(widened), type);
}

/// Builds a float operation on any number of scalars.
template <typename FloatOp>
static Value buildFloat(OpBuilder &builder, Location loc, ValueRange scalars) {
  return inComputeType(builder, loc, scalars, [&](ArrayRef<Value> values) -> Value {
    return FloatOp::create(builder, loc, ValueRange(values));
  });
}

/// Builds one operation for floats and another for integers.
template <typename FloatOp, typename IntOp>
static Value buildNumber(OpBuilder &builder, Location loc, ValueRange scalars) {
  if (isa<FloatType>(scalars.front().getType()))
    return buildFloat<FloatOp>(builder, loc, scalars);
  return IntOp::create(builder, loc, scalars);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

Value NegOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  Type type = scalars.front().getType();
  if (isa<FloatType>(type))
    return buildFloat<arith::NegFOp>(builder, loc, scalars);
  return arith::SubIOp::create(builder, loc, zeroOf(builder, loc, type), scalars.front());
}

Value ExpOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::ExpOp>(builder, loc, scalars);
}
Value LogOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::LogOp>(builder, loc, scalars);
}
Value RsqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::RsqrtOp>(builder, loc, scalars);
}
Value SqrtOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::SqrtOp>(builder, loc, scalars);
}
Value SinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::SinOp>(builder, loc, scalars);
}
Value CosOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::CosOp>(builder, loc, scalars);
}
Value TanhOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::TanhOp>(builder, loc, scalars);
}
Value ErfOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::ErfOp>(builder, loc, scalars);
}

Value SigmoidOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return inComputeType(builder, loc, scalars, [&](ArrayRef<Value> values) -> Value {
    Value x = values.front();
    // e⁻ˣ overflows to infinity for large negative x, where 1/(1 + ∞) is the correct result, 0.
    Value one = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(x.getType(), 1.0));
    Value exp = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, x));
    return arith::DivFOp::create(builder, loc, one, arith::AddFOp::create(builder, loc, one, exp));
  });
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildNumber<arith::AddFOp, arith::AddIOp>(builder, loc, scalars);
}
Value SubOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildNumber<arith::SubFOp, arith::SubIOp>(builder, loc, scalars);
}
Value MulOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildNumber<arith::MulFOp, arith::MulIOp>(builder, loc, scalars);
}
Value DivOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<arith::DivFOp>(builder, loc, scalars);
}
Value MaxOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildNumber<arith::MaximumFOp, arith::MaxSIOp>(builder, loc, scalars);
}
Value MinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildNumber<arith::MinimumFOp, arith::MinSIOp>(builder, loc, scalars);
}
Value PowOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return buildFloat<math::PowFOp>(builder, loc, scalars);
}

//===----------------------------------------------------------------------===//
// Comparison, logic, selection, conversion
//===----------------------------------------------------------------------===//

static arith::CmpFPredicate getFloatPredicate(Predicate predicate) {
  switch (predicate) {
  case Predicate::EQ:
    return arith::CmpFPredicate::OEQ;
  case Predicate::NE:
    return arith::CmpFPredicate::UNE;
  case Predicate::LT:
    return arith::CmpFPredicate::OLT;
  case Predicate::LE:
    return arith::CmpFPredicate::OLE;
  case Predicate::GT:
    return arith::CmpFPredicate::OGT;
  case Predicate::GE:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("all predicates are handled");
}

static arith::CmpIPredicate getIntPredicate(Predicate predicate) {
  switch (predicate) {
  case Predicate::EQ:
    return arith::CmpIPredicate::eq;
  case Predicate::NE:
    return arith::CmpIPredicate::ne;
  case Predicate::LT:
    return arith::CmpIPredicate::slt;
  case Predicate::LE:
    return arith::CmpIPredicate::sle;
  case Predicate::GT:
    return arith::CmpIPredicate::sgt;
  case Predicate::GE:
    return arith::CmpIPredicate::sge;
  }
  llvm_unreachable("all predicates are handled");
}

Value CompareOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  Type type = scalars.front().getType();
  if (isa<IntegerType>(type))
    return arith::CmpIOp::create(builder, loc, getIntPredicate(getPredicate()), scalars[0], scalars[1]);
  Type compute = getComputeType(type);
  return arith::CmpFOp::create(builder, loc, getFloatPredicate(getPredicate()),
                               convertScalar(builder, loc, scalars[0], compute),
                               convertScalar(builder, loc, scalars[1], compute));
}

Value AndOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return arith::AndIOp::create(builder, loc, scalars[0], scalars[1]);
}
Value OrOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return arith::OrIOp::create(builder, loc, scalars[0], scalars[1]);
}
Value NotOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, loc, scalars.front(), yes);
}

Value SelectOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return arith::SelectOp::create(builder, loc, scalars[0], scalars[1], scalars[2]);
}

Value CastOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars) {
  return convertScalar(builder, loc, scalars.front(), getResult().getType().getElementType());
}
