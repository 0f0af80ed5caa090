//===- SoftCap.cpp - Soft caps of scores ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftCap.h"

#include "ExpressionPrinter.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {
/// A value times a number.
struct Multiple {
  Value value;
  double factor;
};
} // namespace

/// Returns the operand that is not constant if the value is a product or quotient with a number; otherwise the value
/// times 1.
static Multiple splitFactor(Value value) {
  Operation *op = value.getDefiningOp();
  APFloat number(0.0);
  if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) && matchPattern(op->getOperand(1), m_ConstantFloat(&number))) {
    double factor = number.convertToDouble();
    return {op->getOperand(0), isa<arith::MulFOp>(op) ? factor : 1 / factor};
  }
  if (isa_and_nonnull<arith::MulFOp>(op) && matchPattern(op->getOperand(0), m_ConstantFloat(&number)))
    return {op->getOperand(1), number.convertToDouble()};
  return {value, 1};
}

std::optional<SoftCap> SoftCap::find(func::FuncOp scalars, double scale) {
  // The smallest numerators of a row have to stay in the range of bf16. The kernels have a constant of about cap ·
  // slope⁵ / 10, and multiply it by the square of a hidden score, ∞: it must not be 0 in f32.
  constexpr double leastCap = 0x1p-16, largestCap = 53, leastSlope = 0x1p-20, largestSlope = 0x1p20;
  Block &body = scalars.getBody().front();
  BlockArgument score = body.getArgument(score::kScore);
  Multiple result = splitFactor(body.getTerminator()->getOperand(0));
  auto tangent = result.value.getDefiningOp<math::TanhOp>();
  if (!score.getType().isF32() || !tangent)
    return std::nullopt;
  Multiple argument = splitFactor(tangent.getOperand());
  double slope = scale * argument.factor;
  bool isInRange =
      result.factor >= leastCap && result.factor <= largestCap && slope >= leastSlope && slope <= largestSlope;
  if (argument.value != score || !isInRange)
    return std::nullopt;
  return SoftCap{result.factor, argument.factor};
}

std::string SoftCap::print(MLIRContext *context) const {
  auto print = [&](double number) {
    return ExpressionPrinter::print(FloatAttr::get(Float32Type::get(context), number)).text;
  };
  return "    static constexpr float softCap = " + print(cap) + ", capSlope = " + print(slope) + ";\n";
}
