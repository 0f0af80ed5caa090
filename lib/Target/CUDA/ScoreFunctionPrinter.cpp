//===- ScoreFunctionPrinter.cpp - Scalar code as CUDA C++ -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreFunctionPrinter.h"

#include "ExpressionPrinter.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

static constexpr StringLiteral argumentNames[] = {"score", "batch", "head", "query", "key"};

Expression ScoreFunctionPrinter::printExtract(tensor::ExtractOp op, LookUp lookUp) const {
  unsigned operand = tables[cast<BlockArgument>(op.getTensor()).getArgNumber() - score::kFirstTable];
  SmallVector<int64_t> strides;
  int64_t offset;
  [[maybe_unused]] LogicalResult known = kernel.operands[operand].getStridesAndOffset(strides, offset);
  assert(succeeded(known) && "the schedule rejects unknown strides");
  int64_t last = offset;
  for (auto [size, stride] : llvm::zip_equal(kernel.operands[operand].getShape(), strides))
    last += (size - 1) * stride;
  bool isShort = last <= std::numeric_limits<int32_t>::max();
  Expression position{std::to_string(offset)};
  bool isFirst = offset == 0;
  for (auto [index, stride] : llvm::zip_equal(op.getIndices(), strides)) {
    auto cast = index.getDefiningOp<arith::IndexCastOp>();
    Expression term = lookUp(isShort && cast ? cast.getIn() : index);
    if (stride != 1)
      term = Expression::infix(term, "*", {std::to_string(stride)}, Precedence::Multiplicative);
    position = isFirst ? term : Expression::infix(position, "+", term, Precedence::Additive);
    isFirst = false;
  }
  return ExpressionPrinter::printLoaded(op.getType(), {kernel.getOperandName(operand) + "[" + position.text + "]"});
}

/// Returns the reciprocal of a constant divisor if it is a normal number, or null.
static FloatAttr getReciprocal(arith::DivFOp division) {
  FloatAttr divisor;
  if (!matchPattern(division.getRhs(), m_Constant(&divisor)))
    return {};
  APFloat reciprocal(divisor.getValue().getSemantics(), 1);
  reciprocal.divide(divisor.getValue(), APFloat::rmNearestTiesToEven);
  return reciprocal.isNormal() ? FloatAttr::get(divisor.getType(), reciprocal) : FloatAttr();
}

Expression ScoreFunctionPrinter::printOperation(Operation *op, LookUp lookUp) const {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return ExpressionPrinter::print(constant.getValue());
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return printExtract(extract, lookUp);
  if (isRough && isa<math::TanhOp>(op))
    return Expression::call("approximateTanh", lookUp(op->getOperand(0)));
  // One instruction instead of about ten, within 1.5 units in the last place.
  if (auto division = dyn_cast<arith::DivFOp>(op); division && isRough)
    if (FloatAttr reciprocal = getReciprocal(division))
      return Expression::infix(lookUp(division.getLhs()), "*", ExpressionPrinter::print(reciprocal),
                               Precedence::Multiplicative);
  return ExpressionPrinter::print(op, llvm::map_to_vector(op->getOperands(), lookUp));
}

std::optional<Expression> ScoreFunctionPrinter::printValue(Value value) const {
  constexpr size_t longest = 200;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return Expression{argumentNames[argument.getArgNumber()].str()};
  bool isLong = false;
  Expression expression = printOperation(value.getDefiningOp(), [&](Value operand) {
    // A value with many uses is not printed again when the result is known to be long.
    std::optional<Expression> text = isLong ? std::nullopt : printValue(operand);
    isLong |= !text;
    return text.value_or(Expression());
  });
  if (isLong || expression.text.size() > longest)
    return std::nullopt;
  return expression;
}

void ScoreFunctionPrinter::printStatement(raw_ostream &os, Operation *op) {
  // Longer expressions have a variable.
  constexpr size_t longest = 48;
  Value result = op->getResult(0);
  Expression expression = printOperation(op, [&](Value value) { return expressions.lookup(value); });
  bool isReturned = result.hasOneUse() && (*result.user_begin())->hasTrait<OpTrait::IsTerminator>();
  bool isShort = isReturned || (result.hasOneUse() && expression.text.size() <= longest);
  if (!isShort && !isa<IndexType>(result.getType()) && !isa<arith::ConstantOp>(op)) {
    StringRef noun = isa<tensor::ExtractOp>(op) ? "element" : ExpressionPrinter::getNoun(op);
    std::string variable = noun.str() + std::to_string(numVariables++);
    os << "      const " << ExpressionPrinter::getComputeType(result.getType()) << " " << variable << " = "
       << expression.text << ";\n";
    expression = {variable};
  }
  expressions[result] = expression;
}

void ScoreFunctionPrinter::printFunction(raw_ostream &os, func::FuncOp scalars, StringRef name,
                                         bool returnsDerivative) {
  Block &body = scalars.getBody().front();
  StringRef type = ExpressionPrinter::getComputeType(body.getArgument(score::kScore).getType());
  expressions.clear();
  numVariables = 0;
  for (auto [argument, text] : llvm::zip(body.getArguments(), argumentNames))
    expressions[argument] = {text.str()};
  os << "    __device__ " << type << " " << name << "(" << type << " score, int batch, int head, int query, int key";
  if (returnsDerivative)
    os << ", " << type << " &derivative";
  os << ") const {\n";
  for (Operation &op : body.without_terminator())
    printStatement(os, &op);
  ValueRange yielded = body.getTerminator()->getOperands();
  if (returnsDerivative)
    os << "      derivative = " << expressions.lookup(yielded[1]).text << ";\n";
  os << "      return " << expressions.lookup(yielded[0]).text << ";\n    }\n";
}
