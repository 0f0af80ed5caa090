//===- MathApproximation.cpp - float32 functions without calls ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The polynomials are minimax fits, computed for this file, of the remainder after the leading terms, which are exact.

#include "MathApproximation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {
/// Builds float32 arithmetic, on scalars or on vectors: the same operations, so the same bits.
struct FloatBuilder {
  OpBuilder &builder;
  Location loc;
  /// The type float32 or a vector of it, and i32 or a vector of the same length.
  Type floatType, intType;

  FloatBuilder(OpBuilder &builder, Location loc, Type floatType)
      : builder(builder), loc(loc), floatType(floatType), intType(builder.getI32Type()) {
    if (auto vector = dyn_cast<VectorType>(floatType))
      intType = vector.clone(builder.getI32Type());
  }

  Value constant(TypedAttr value, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value constant(float value) { return constant(builder.getF32FloatAttr(value), floatType); }
  Value integer(int32_t value) { return constant(builder.getI32IntegerAttr(value), intType); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value neg(Value a) { return arith::NegFOp::create(builder, loc, a); }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value copySign(Value magnitude, Value sign) { return math::CopySignOp::create(builder, loc, magnitude, sign); }
  Value less(Value a, Value b) { return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b); }
  Value equal(Value a, Value b) { return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, b); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  Value bits(Value a) { return arith::BitcastOp::create(builder, loc, intType, a); }
  Value fromBits(Value a) { return arith::BitcastOp::create(builder, loc, floatType, a); }
  Value addInt(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value subInt(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value shiftRight(Value a, int32_t by) { return arith::ShRSIOp::create(builder, loc, a, integer(by)); }
  Value shiftLeft(Value a, int32_t by) { return arith::ShLIOp::create(builder, loc, a, integer(by)); }

  /// Computes a·b + c, with one rounding if the target has fused multiply-add.
  Value mulAdd(Value a, Value b, Value c) {
    auto contract = arith::FastMathFlags::contract;
    return arith::AddFOp::create(builder, loc, arith::MulFOp::create(builder, loc, a, b, contract), c, contract);
  }
  /// Computes Σ coefficients[i]·xⁱ.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = constant(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      sum = mulAdd(sum, x, constant(coefficient));
    return sum;
  }
  /// Computes 2ᵏ for k in [-126, 127].
  Value powerOfTwo(Value k) { return fromBits(shiftLeft(addInt(k, integer(127)), 23)); }

  Value exp(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value erf(Value x);
};
} // namespace

/// ln 2 as the sum of a number with few bits, whose multiples by exponents are exact, and a remainder.
static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

/// Computes eˣ = 2ᵏ·eʳ with k = round(x/ln 2), |r| ≤ ln 2/2.
Value FloatBuilder::exp(Value x) {
  // Beyond these bounds the result is 0 or infinity, so x is clamped, and two factors suffice for 2ᵏ. NaN stays NaN.
  Value tooSmall = constant(-104.0f), tooLarge = constant(89.0f);
  x = select(less(x, tooSmall), tooSmall, x);
  x = select(less(tooLarge, x), tooLarge, x);

  // Adding 1.5·2²³ leaves the rounded integer in the low bits.
  Value magic = constant(12582912.0f);
  Value shifted = mulAdd(x, constant(1.44269504f), magic);
  Value k = subInt(bits(shifted), bits(magic));
  Value kFloat = sub(shifted, magic);
  Value r = mulAdd(kFloat, constant(-kLn2Low), mulAdd(kFloat, constant(-kLn2High), x));

  Value q = polynomial(r, {0.5f, 0.16666518f, 0.0416662f, 0.00836895f, 0.00139506f});
  Value power = add(mulAdd(mul(r, r), q, r), constant(1.0f));
  // Multiplies by half of the exponent at a time: 2¹²⁸ and 2⁻¹⁵⁰ are not floats.
  Value half = shiftRight(k, 1);
  return mul(mul(power, powerOfTwo(half)), powerOfTwo(subInt(k, half)));
}

/// Computes ln x = e·ln 2 + ln(1 + f) with x = 2ᵉ·(1 + f), 1 + f in [√½, √2).
Value FloatBuilder::log(Value x) {
  Value isSubnormal = less(x, constant(1.17549435e-38f));
  Value normal = select(isSubnormal, mul(x, constant(8388608.0f)), x);
  Value raised = select(isSubnormal, constant(23.0f), constant(0.0f));

  // After the bits of √½ are subtracted, the exponent changes at √½.
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  Value offset = subInt(bits(normal), integer(kSqrtHalf));
  Value e = shiftRight(offset, 23);
  Value exponent = sub(arith::SIToFPOp::create(builder, loc, floatType, e), raised);
  Value f = sub(fromBits(subInt(bits(normal), shiftLeft(e, 23))), constant(1.0f));

  Value p = polynomial(f, {0.33333313f, -0.2500001f, 0.20002119f, -0.16667996f, 0.14219551f, -0.12405591f, 0.11888175f,
                           -0.11675641f, 0.06746601f});
  Value square = mul(f, f);
  Value tail = mulAdd(mul(square, f), p, mul(exponent, constant(kLn2Low)));
  Value fraction = add(f, mulAdd(square, constant(-0.5f), tail));
  Value result = mulAdd(exponent, constant(kLn2High), fraction);

  float infinity = std::numeric_limits<float>::infinity();
  Value zero = constant(0.0f);
  result = select(equal(x, constant(infinity)), x, result);
  result = select(equal(x, zero), constant(-infinity), result);
  // Negative or NaN.
  Value isOrdered = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, x, zero);
  return select(isOrdered, result, constant(std::numeric_limits<float>::quiet_NaN()));
}

/// Uses an odd polynomial near 0, and 1 − 2/(e²ˣ + 1) elsewhere.
Value FloatBuilder::tanh(Value x) {
  Value magnitude = abs(x), square = mul(x, x), one = constant(1.0f);
  Value p = polynomial(square, {-0.3333326f, 0.1333083f, -0.05368802f, 0.02046941f, -0.00551515f});
  Value nearZero = mulAdd(mul(square, p), x, x);
  Value quotient = div(constant(2.0f), add(exp(add(magnitude, magnitude)), one));
  Value far = copySign(sub(one, quotient), x);
  return select(less(magnitude, constant(0.625f)), nearZero, far);
}

/// Uses an odd polynomial near 0, and 1 − e^−q(|x|) elsewhere, where q approximates −ln erfc.
Value FloatBuilder::erf(Value x) {
  Value magnitude = abs(x), square = mul(x, x), one = constant(1.0f);
  Value p = polynomial(square, {0.12837915f, -0.37612481f, 0.11281683f, -0.02676172f, 0.00498594f, -0.00059537f});
  Value nearZero = mulAdd(x, p, x);
  // erf(4) rounds to 1.
  Value bounded = select(less(constant(4.0f), magnitude), constant(4.0f), magnitude);
  Value q = polynomial(bounded, {-1.70552030e-04f, 1.12949516f, 6.33386647e-01f, 1.08236619e-01f, -2.50914968e-02f,
                                 4.16052699e-03f, -4.32303005e-04f, 2.09095556e-05f});
  Value far = copySign(sub(one, exp(neg(q))), x);
  return select(less(magnitude, constant(0.9f)), nearZero, far);
}

namespace {
/// Replaces one function of float32.
template <typename MathOp, Value (FloatBuilder::*build)(Value)>
struct Approximation : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MathOp op, PatternRewriter &rewriter) const override {
    if (!cs336::cpu::hasMathApproximation(op))
      return failure();
    FloatBuilder builder(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, (builder.*build)(op.getOperand()));
    return success();
  }
};
} // namespace

bool cs336::cpu::hasMathApproximation(Operation *op) {
  return isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

void cs336::cpu::populateMathApproximationPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximation<math::ExpOp, &FloatBuilder::exp>, Approximation<math::LogOp, &FloatBuilder::log>,
               Approximation<math::TanhOp, &FloatBuilder::tanh>, Approximation<math::ErfOp, &FloatBuilder::erf>>(
      patterns.getContext());
}
