//===- Decompositions.cpp - Composites as primitives ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;

using Replacements = FailureOr<SmallVector<Value>>;

namespace {
/// Builds primitives at one location, so that the code reads like a formula.
class Formula {
public:
  Formula(Operation *op, OpBuilder &builder) : b(op->getLoc(), builder) {}

  Value splat(RankedTensorType type, double value) { return ConstantOp::create(b, type, value); }
  Value add(Value lhs, Value rhs) { return AddOp::create(b, lhs, rhs); }
  Value add(Value lhs, double rhs) { return add(lhs, splat(tensorType(lhs), rhs)); }
  Value sub(Value lhs, Value rhs) { return SubOp::create(b, lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return MulOp::create(b, lhs, rhs); }
  Value mul(Value lhs, double rhs) { return mul(lhs, splat(tensorType(lhs), rhs)); }
  Value div(Value lhs, double rhs) { return DivOp::create(b, lhs, splat(tensorType(lhs), rhs)); }
  template <typename OpTy>
  Value unary(Value operand) {
    return OpTy::create(b, operand);
  }
  Value compare(Predicate predicate, Value lhs, Value rhs) { return CompareOp::create(b, predicate, lhs, rhs); }
  Value select(Value predicate, Value trueValue, Value falseValue) {
    return SelectOp::create(b, predicate, trueValue, falseValue);
  }
  Value iota(RankedTensorType type, int64_t axis) { return IotaOp::create(b, type, axis); }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(b, tensorType(value).clone(shape), value).getResult();
  }
  Value concat(RankedTensorType type, int64_t axis, ValueRange values) {
    return ConcatOp::create(b, type, axis, values);
  }

  Value convert(Value value, Type elementType) {
    RankedTensorType type = tensorType(value);
    return type.getElementType() == elementType ? value : CastOp::create(b, type.clone(elementType), value).getResult();
  }
  /// Casts to float32, unless the value is wider.
  Value widen(Value value) {
    bool isLow = tensorType(value).getElementTypeBitWidth() < 32;
    return isLow ? convert(value, b.getF32Type()) : value;
  }

  /// Reduces over the last axis.
  Value reduceRow(ReduceKind kind, Value value, bool stopGradient = false) {
    RankedTensorType type = tensorType(value);
    return ReduceOp::create(b, type.clone(type.getShape().drop_back()), kind, value,
                            ArrayRef<int64_t>{type.getRank() - 1}, stopGradient);
  }
  Value meanOfRow(Value value) {
    return div(reduceRow(ReduceKind::Sum, value), static_cast<double>(tensorType(value).getShape().back()));
  }
  /// Repeats a value of shape […] along a new last axis.
  Value alongRow(Value value, ArrayRef<int64_t> shape) {
    return broadcast(value, shape, llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1)));
  }
  /// Repeats a value over new leading axes.
  Value overRows(Value value, ArrayRef<int64_t> shape) {
    int64_t rank = shape.size();
    return broadcast(value, shape, llvm::to_vector(llvm::seq<int64_t>(rank - tensorType(value).getRank(), rank)));
  }

  Value broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    return BroadcastOp::create(b, tensorType(value).clone(shape), value, dims);
  }

  ImplicitLocOpBuilder b;
};
} // namespace

static SmallVector<Value> one(Value value) { return {value}; }

//===----------------------------------------------------------------------===//
// Linear and activations
//===----------------------------------------------------------------------===//

Replacements LinearOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  bool isVector = shape.size() == 1;
  Value input = isVector ? f.reshape(getInput(), {1, getInput().getType().getShape().back()}) : Value(getInput());
  Value result = MatmulOp::create(f.b, input, getWeight(), /*transposeA=*/false, /*transposeB=*/true, getPrecision());
  return one(isVector ? f.reshape(result, shape) : result);
}

/// Computes in float32 or wider, so that a low result is rounded once.
Replacements SiluOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  Value x = f.widen(getOperand());
  Value y = f.mul(x, f.unary<SigmoidOp>(x));
  return one(f.convert(y, getResult().getType().getElementType()));
}

/// Tests `x ≤ 0` rather than `x > 0`, so that NaN passes through; the gradient of `select` at 0 is that of the zero.
Replacements ReluOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  Value zero = f.splat(getOperand().getType(), 0.0);
  return one(f.select(f.compare(Predicate::LE, getOperand(), zero), zero, getOperand()));
}

/// Computes in float32 or wider: 1 + erf(x) in bf16 would have no digits left for negative x.
Replacements GeluOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  Value x = f.widen(getOperand());
  Value s;
  if (getTanh()) {
    Value cube = f.mul(f.mul(x, x), x);
    Value argument = f.mul(f.add(x, f.mul(cube, 0.044715)), llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi);
    s = f.unary<TanhOp>(argument);
  } else {
    s = f.unary<ErfOp>(f.mul(x, 1.0 / llvm::numbers::sqrt2));
  }
  Value half = f.mul(x, 0.5);
  Value y = f.mul(half, f.add(s, 1.0));
  return one(f.convert(y, getResult().getType().getElementType()));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Replacements RMSNormOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  Value x = f.widen(getInput());
  Value weight = f.convert(getWeight(), tensorType(x).getElementType());
  Value r = f.unary<RsqrtOp>(f.add(f.meanOfRow(f.mul(x, x)), getEps().convertToDouble()));
  Value normalized = f.mul(x, f.alongRow(r, shape));
  Value y = f.mul(f.overRows(weight, shape), normalized);
  return one(f.convert(y, getResult().getType().getElementType()));
}

Replacements LayerNormOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  Value x = f.widen(getInput());
  Type compute = tensorType(x).getElementType();
  Value weight = f.convert(getWeight(), compute), bias = f.convert(getBias(), compute);
  Value centered = f.sub(x, f.alongRow(f.meanOfRow(x), shape));
  Value variance = f.meanOfRow(f.mul(centered, centered));
  Value r = f.unary<RsqrtOp>(f.add(variance, getEps().convertToDouble()));
  Value normalized = f.mul(centered, f.alongRow(r, shape));
  Value scaled = f.mul(normalized, f.overRows(weight, shape));
  Value y = f.add(scaled, f.overRows(bias, shape));
  return one(f.convert(y, getResult().getType().getElementType()));
}

//===----------------------------------------------------------------------===//
// Positions and loss
//===----------------------------------------------------------------------===//

Replacements RoPEOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  int64_t positions = shape[shape.size() - 2], headDim = shape.back();

  // One table of angles for all leading axes.
  auto tableType = RankedTensorType::get({positions, headDim / 2}, builder.getF64Type());
  Value exponent = f.div(f.mul(f.iota(tableType, 1), -2.0), static_cast<double>(headDim));
  Value frequency = PowOp::create(f.b, f.splat(tableType, getTheta().convertToDouble()), exponent);
  Value angle = f.mul(f.iota(tableType, 0), frequency);

  // […, S, D] as […, S, D/2, 2], and even and odd elements as […, S, D/2, 1].
  Value x = f.widen(getInput());
  Type compute = tensorType(x).getElementType();
  SmallVector<int64_t> pairShape(shape);
  pairShape.back() /= 2;
  pairShape.push_back(2);
  SmallVector<int64_t> elementShape(pairShape);
  elementShape.back() = 1;
  Value pairs = f.reshape(x, pairShape);
  auto element = [&](int64_t index) -> Value {
    SmallVector<int64_t> offsets(pairShape.size(), 0);
    offsets.back() = index;
    return SliceOp::create(f.b, RankedTensorType::get(elementShape, compute), pairs, offsets);
  };
  Value even = element(0), odd = element(1);
  auto alongPairs = [&](Value table) {
    int64_t rank = elementShape.size();
    return f.broadcast(f.convert(table, compute), elementShape, {rank - 3, rank - 2});
  };
  Value cosine = alongPairs(f.unary<CosOp>(angle));
  Value sine = alongPairs(f.unary<SinOp>(angle));

  // Operands are built into variables first, because C++ does not define the evaluation order of arguments.
  Value evenCosine = f.mul(even, cosine), oddSine = f.mul(odd, sine);
  Value evenSine = f.mul(even, sine), oddCosine = f.mul(odd, cosine);
  Value rotatedEven = f.sub(evenCosine, oddSine);
  Value rotatedOdd = f.add(evenSine, oddCosine);
  Value rotated = f.concat(RankedTensorType::get(pairShape, compute), pairShape.size() - 1, {rotatedEven, rotatedOdd});
  return one(f.convert(f.reshape(rotated, shape), getResult().getType().getElementType()));
}

/// Does not differentiate the maximum: the loss does not depend on the number that is subtracted from a row.
Replacements CrossEntropyOp::decompose(OpBuilder &builder) {
  Formula f(*this, builder);
  Value x = f.widen(getLogits());
  RankedTensorType type = tensorType(x);
  ArrayRef<int64_t> shape = type.getShape();
  Value maximum = f.reduceRow(ReduceKind::Max, x, /*stopGradient=*/true);
  Value shifted = f.sub(x, f.alongRow(maximum, shape));
  Value logSum = f.unary<LogOp>(f.reduceRow(ReduceKind::Sum, f.unary<ExpOp>(shifted)));

  Value targets = f.alongRow(getTargets(), shape);
  Value classes = f.iota(tensorType(targets), type.getRank() - 1);
  Value isTarget = f.compare(Predicate::EQ, classes, targets);
  Value picked = f.reduceRow(ReduceKind::Sum, f.select(isTarget, shifted, f.splat(type, 0.0)));

  Value losses = f.sub(logSum, picked);
  RankedTensorType lossesType = tensorType(losses);
  if (lossesType.getRank() > 0) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, lossesType.getRank()));
    losses = ReduceOp::create(f.b, lossesType.clone(ArrayRef<int64_t>{}), ReduceKind::Sum, losses, axes);
    losses = f.div(losses, static_cast<double>(lossesType.getNumElements()));
  }
  return one(f.convert(losses, getResult().getType().getElementType()));
}
