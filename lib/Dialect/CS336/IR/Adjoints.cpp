//===- Adjoints.cpp - The gradients of every primitive --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All adjoints are built from differentiable primitives in the type of the forward operation, so that the gradient of a
// bf16 value is bf16. Unused gradients (for example of a constant) are dead code, which the caller erases.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;

using Gradients = SmallVectorImpl<Value>;

static Value splatLike(ImplicitLocOpBuilder &b, Value value, double splat) {
  return ConstantOp::create(b, tensorType(value), splat);
}
static Value mul(ImplicitLocOpBuilder &b, Value lhs, Value rhs) { return MulOp::create(b, lhs, rhs); }
static Value scale(ImplicitLocOpBuilder &b, Value value, double factor) {
  return mul(b, value, splatLike(b, value, factor));
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

LogicalResult NegOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(NegOp::create(builder, getLoc(), gradients[0]));
  return success();
}

LogicalResult ExpOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(MulOp::create(builder, getLoc(), gradients[0], getResult()));
  return success();
}

LogicalResult LogOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(DivOp::create(builder, getLoc(), gradients[0], getOperand()));
  return success();
}

/// Computes d x^(−1/2) = −½ x^(−3/2) from the result alone.
LogicalResult RsqrtOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value cube = mul(b, mul(b, getResult(), getResult()), getResult());
  operandGradients.push_back(mul(b, gradients[0], scale(b, cube, -0.5)));
  return success();
}

LogicalResult SqrtOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  operandGradients.push_back(DivOp::create(b, scale(b, gradients[0], 0.5), getResult()));
  return success();
}

LogicalResult SinOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  operandGradients.push_back(mul(b, gradients[0], CosOp::create(b, getOperand())));
  return success();
}

LogicalResult CosOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value sine = SinOp::create(b, getOperand());
  operandGradients.push_back(NegOp::create(b, mul(b, gradients[0], sine)));
  return success();
}

LogicalResult TanhOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value one = splatLike(b, getResult(), 1.0);
  Value slope = SubOp::create(b, one, mul(b, getResult(), getResult()));
  operandGradients.push_back(mul(b, gradients[0], slope));
  return success();
}

LogicalResult ErfOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value density = ExpOp::create(b, NegOp::create(b, mul(b, getOperand(), getOperand())));
  operandGradients.push_back(mul(b, gradients[0], scale(b, density, 2.0 * llvm::numbers::inv_sqrtpi)));
  return success();
}

LogicalResult SigmoidOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value complement = SubOp::create(b, splatLike(b, getResult(), 1.0), getResult());
  operandGradients.push_back(mul(b, gradients[0], mul(b, getResult(), complement)));
  return success();
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildAdjoint(OpBuilder &, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.append({gradients[0], gradients[0]});
  return success();
}

LogicalResult SubOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(gradients[0]);
  operandGradients.push_back(NegOp::create(builder, getLoc(), gradients[0]));
  return success();
}

LogicalResult MulOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  operandGradients.push_back(mul(b, gradients[0], getRhs()));
  operandGradients.push_back(mul(b, gradients[0], getLhs()));
  return success();
}

LogicalResult DivOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value lhsGradient = DivOp::create(b, gradients[0], getRhs());
  operandGradients.push_back(lhsGradient);
  operandGradients.push_back(NegOp::create(b, mul(b, lhsGradient, getResult())));
  return success();
}

/// Gives the gradient to the chosen operand. If both are equal, each gets half.
static void buildExtremumAdjoint(ImplicitLocOpBuilder &b, Predicate lhsWins, Value lhs, Value rhs, Value gradient,
                                 Gradients &operandGradients) {
  Value zero = splatLike(b, gradient, 0.0), half = scale(b, gradient, 0.5);
  Value isTie = CompareOp::create(b, Predicate::EQ, lhs, rhs);
  Value isLhs = CompareOp::create(b, lhsWins, lhs, rhs), isRhs = CompareOp::create(b, lhsWins, rhs, lhs);
  for (Value wins : {isLhs, isRhs})
    operandGradients.push_back(SelectOp::create(b, isTie, half, SelectOp::create(b, wins, gradient, zero)));
}

LogicalResult MaxOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  buildExtremumAdjoint(b, Predicate::GT, getLhs(), getRhs(), gradients[0], operandGradients);
  return success();
}

LogicalResult MinOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  buildExtremumAdjoint(b, Predicate::LT, getLhs(), getRhs(), gradients[0], operandGradients);
  return success();
}

/// Computes dx = y·x^(y−1), 0 where y = 0 (else 0·∞ at x = 0), and dy = xʸ·ln x, 0 where x = 0 (its limit for y > 0).
LogicalResult PowOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value base = getLhs(), exponent = getRhs();
  Value zero = splatLike(b, base, 0.0), one = splatLike(b, base, 1.0);

  Value lowered = PowOp::create(b, base, SubOp::create(b, exponent, one));
  Value scaled = mul(b, exponent, lowered);
  Value isFlat = CompareOp::create(b, Predicate::EQ, exponent, zero);
  operandGradients.push_back(mul(b, gradients[0], SelectOp::create(b, isFlat, zero, scaled)));

  Value grown = mul(b, getResult(), LogOp::create(b, base));
  Value isZero = CompareOp::create(b, Predicate::EQ, base, zero);
  operandGradients.push_back(mul(b, gradients[0], SelectOp::create(b, isZero, zero, grown)));
  return success();
}

//===----------------------------------------------------------------------===//
// Selection, conversion
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value zero = splatLike(b, gradients[0], 0.0);
  operandGradients.push_back(nullptr);
  operandGradients.push_back(SelectOp::create(b, getPredicate(), gradients[0], zero));
  operandGradients.push_back(SelectOp::create(b, getPredicate(), zero, gradients[0]));
  return success();
}

LogicalResult CastOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  bool isSmooth = isa<FloatType>(tensorType(getOperand()).getElementType());
  operandGradients.push_back(
      isSmooth ? CastOp::create(builder, getLoc(), getOperand().getType(), gradients[0]).getResult() : Value());
  return success();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  SmallVector<int64_t> newAxes;
  for (int64_t axis = 0; axis < tensorType(getResult()).getRank(); ++axis)
    if (!llvm::is_contained(getDims(), axis))
      newAxes.push_back(axis);
  operandGradients.push_back(
      ReduceOp::create(builder, getLoc(), getOperand().getType(), ReduceKind::Sum, gradients[0], newAxes));
  return success();
}

LogicalResult ReshapeOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(ReshapeOp::create(builder, getLoc(), getOperand().getType(), gradients[0]));
  return success();
}

LogicalResult TransposeOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  SmallVector<int64_t> inverse(getPerm().size());
  for (auto [axis, source] : llvm::enumerate(getPerm()))
    inverse[source] = static_cast<int64_t>(axis);
  operandGradients.push_back(TransposeOp::create(builder, getLoc(), getOperand().getType(), gradients[0], inverse));
  return success();
}

LogicalResult SliceOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(PadOp::create(builder, getLoc(), getOperand().getType(), gradients[0], getOffsets()));
  return success();
}

LogicalResult PadOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(SliceOp::create(builder, getLoc(), getOperand().getType(), gradients[0], getOffsets()));
  return success();
}

LogicalResult ConcatOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  SmallVector<int64_t> offsets(tensorType(getResult()).getRank(), 0);
  for (Value operand : getOperands()) {
    operandGradients.push_back(SliceOp::create(builder, getLoc(), operand.getType(), gradients[0], offsets));
    offsets[getAxis()] += tensorType(operand).getDimSize(getAxis());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions, matmuls, gathers
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  if (getStopGradient()) {
    operandGradients.push_back(nullptr);
    return success();
  }
  ImplicitLocOpBuilder b(getLoc(), builder);
  RankedTensorType type = tensorType(getOperand());
  SmallVector<int64_t> kept;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (!llvm::is_contained(getAxes(), axis))
      kept.push_back(axis);
  auto spread = [&](Value value) -> Value { return BroadcastOp::create(b, type, value, kept); };
  if (getKind() == ReduceKind::Sum) {
    operandGradients.push_back(spread(gradients[0]));
    return success();
  }

  // Distributes the gradient of a maximum equally among the elements that attain it.
  Value attains = CompareOp::create(b, Predicate::EQ, getOperand(), spread(getResult()));
  Value count =
      ReduceOp::create(b, getResult().getType(), ReduceKind::Sum, CastOp::create(b, type, attains), getAxes());
  Value share = DivOp::create(b, gradients[0], count);
  Value shares = spread(share);
  operandGradients.push_back(SelectOp::create(b, attains, shares, splatLike(b, getOperand(), 0.0)));
  return success();
}

/// Swaps the last two axes.
static Value transposeMatrices(ImplicitLocOpBuilder &b, Value value) {
  RankedTensorType type = tensorType(value);
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return TransposeOp::create(b, type.clone(shape), value, perm);
}

/// Reshapes [b…, m, n] to [b…·m, n].
static Value flattenRows(ImplicitLocOpBuilder &b, Value value) {
  RankedTensorType type = tensorType(value);
  int64_t columns = type.getShape().back();
  int64_t rows = 1;
  for (int64_t size : type.getShape().drop_back())
    rows *= size;
  return ReshapeOp::create(b, type.clone({rows, columns}), value);
}

/// Computes dA' = dC·B'ᵀ and dB' = A'ᵀ·dC, where A' and B' are the operands after their transposition. For an operand
/// that is stored transposed, the operands of its gradient's matmul are exchanged, so that the gradient is stored
/// transposed too. If all batches share a matrix B, its gradient is a sum over batches: one matmul over the rows of all
/// batches. dC is the gradient of the sum before a ReLU; the ReLU's result shows where the gradient passes.
LogicalResult MatmulOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value lhs = getLhs(), rhs = getRhs(), gradient = gradients[0];
  if (getRelu()) {
    Value zero = splatLike(b, gradient, 0.0);
    gradient = SelectOp::create(b, CompareOp::create(b, Predicate::LE, getResult(), zero), zero, gradient);
  }
  Value sum = gradient;
  bool transposeA = getTransposeA(), transposeB = getTransposeB();
  bool isShared = tensorType(rhs).getRank() == 2 && tensorType(lhs).getRank() > 2;
  auto matmul = [&](Value left, Value right, bool transposeLeft, bool transposeRight) -> Value {
    return MatmulOp::create(b, left, right, transposeLeft, transposeRight, getPrecision());
  };

  Value lhsGradient;
  if (!transposeA)
    lhsGradient = matmul(gradient, rhs, false, !transposeB);
  else if (isShared)
    lhsGradient = transposeMatrices(b, matmul(gradient, rhs, false, !transposeB));
  else
    lhsGradient = matmul(rhs, gradient, transposeB, true);

  if (isShared) {
    lhs = flattenRows(b, transposeA ? transposeMatrices(b, lhs) : lhs);
    gradient = flattenRows(b, gradient);
    transposeA = false;
  }
  Value rhsGradient = transposeB ? matmul(gradient, lhs, true, transposeA) : matmul(lhs, gradient, !transposeA, false);
  operandGradients.append({lhsGradient, rhsGradient});
  if (getAddend())
    operandGradients.push_back(sum);
  if (getBias()) {
    auto rows = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(sum).getRank() - 1));
    operandGradients.push_back(ReduceOp::create(b, getBias().getType(), ReduceKind::Sum, sum, rows));
  }
  return success();
}

LogicalResult EmbeddingOp::buildAdjoint(OpBuilder &builder, ValueRange gradients, Gradients &operandGradients) {
  operandGradients.push_back(EmbeddingGradOp::create(builder, getLoc(), getTable().getType(), getIds(), gradients[0]));
  operandGradients.push_back(nullptr);
  return success();
}
