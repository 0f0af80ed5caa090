//===- LinearBias.cpp - Biases linear in positions ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearBias.h"

#include "ExpressionPrinter.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Returns a + sign · b, unless they have different factors.
static std::optional<BiasStep> add(const BiasStep &a, const BiasStep &b, double sign) {
  if (a.number != 0 && b.number != 0 && a.factor != b.factor)
    return std::nullopt;
  double sum = a.number + sign * b.number;
  return BiasStep{sum, sum == 0 ? "" : a.number != 0 ? a.factor : b.factor};
}
static std::optional<LinearBias> add(const std::optional<LinearBias> &a, const std::optional<LinearBias> &b,
                                     double sign) {
  if (!a || !b)
    return std::nullopt;
  std::optional<BiasStep> ofQuery = add(a->ofQuery, b->ofQuery, sign), ofKey = add(a->ofKey, b->ofKey, sign);
  if (!ofQuery || !ofKey)
    return std::nullopt;
  return LinearBias{*ofQuery, *ofKey};
}

/// Returns the step times a number that is not constant.
static BiasStep multiply(const BiasStep &step, const Expression &number) {
  if (step.number == 0)
    return step;
  std::string factor = number.in(Precedence::Primary);
  return {step.number, step.factor.empty() ? factor : step.factor + " * " + factor};
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::optional<double> getNumber(Value value) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number.convertToDouble();
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return static_cast<double>(integer.getSExtValue());
  return std::nullopt;
}

namespace {
/// Finds by how much the values of a function of scalars change with query and key.
class StepFinder {
public:
  StepFinder(func::FuncOp scalars, const ScoreFunctionPrinter &printer)
      : body(scalars.getBody().front()), printer(printer) {
    for (unsigned number : {score::kScore, score::kQuery, score::kKey})
      varying.insert(body.getArgument(number));
    for (Operation &op : body.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return varying.contains(operand); }))
        varying.insert_range(op.getResults());
  }

  /// Returns the steps of a value that is the score plus a linear bias.
  std::optional<LinearBias> findBias(Value value) const {
    if (value == body.getArgument(score::kScore))
      return LinearBias();
    Operation *op = value.getDefiningOp();
    if (auto sum = dyn_cast_or_null<arith::AddFOp>(op)) {
      if (std::optional<LinearBias> first = findBias(sum.getLhs()))
        return add(first, find(sum.getRhs()), 1);
      return add(findBias(sum.getRhs()), find(sum.getLhs()), 1);
    }
    if (auto difference = dyn_cast_or_null<arith::SubFOp>(op))
      return add(findBias(difference.getLhs()), find(difference.getRhs()), -1);
    return std::nullopt;
  }

private:
  /// Returns the steps of a value that is a linear function of query and key.
  std::optional<LinearBias> find(Value value) const;
  /// Returns the steps of value · number, where the number does not vary.
  std::optional<LinearBias> findMultiple(Value value, Value number) const;

  Block &body;
  const ScoreFunctionPrinter &printer;
  /// The values that depend on the score, the query or the key.
  DenseSet<Value> varying;
};
} // namespace

std::optional<LinearBias> StepFinder::findMultiple(Value value, Value number) const {
  std::optional<LinearBias> steps = find(value);
  if (!steps || varying.contains(number))
    return std::nullopt;
  if (std::optional<double> constant = getNumber(number))
    return add(LinearBias(), steps, *constant);
  std::optional<Expression> text = printer.printValue(number);
  if (!text || !number.getType().isF32())
    return std::nullopt;
  return LinearBias{multiply(steps->ofQuery, *text), multiply(steps->ofKey, *text)};
}

std::optional<LinearBias> StepFinder::find(Value value) const {
  if (!varying.contains(value))
    return LinearBias();
  if (value == body.getArgument(score::kQuery))
    return LinearBias{{1, ""}, {}};
  if (value == body.getArgument(score::kKey))
    return LinearBias{{}, {1, ""}};
  Operation *op = value.getDefiningOp();
  // Narrower results are rounded.
  if (!op || !(value.getType().isF32() || value.getType().isInteger(32)))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<LinearBias>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto sum) { return add(find(sum.getLhs()), find(sum.getRhs()), 1); })
      .Case<arith::SubFOp, arith::SubIOp>(
          [&](auto difference) { return add(find(difference.getLhs()), find(difference.getRhs()), -1); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto product) {
        bool leftVaries = varying.contains(product.getLhs());
        return findMultiple(leftVaries ? product.getLhs() : product.getRhs(),
                            leftVaries ? product.getRhs() : product.getLhs());
      })
      .Case([&](arith::NegFOp negation) { return add(LinearBias(), find(negation.getOperand()), -1); })
      .Case([&](arith::SIToFPOp conversion) { return find(conversion.getIn()); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// LinearBias
//===----------------------------------------------------------------------===//

std::optional<LinearBias> LinearBias::find(func::FuncOp scalars, const ScoreFunctionPrinter &printer) {
  Block &body = scalars.getBody().front();
  if (!body.getArgument(score::kScore).getType().isF32())
    return std::nullopt;
  return StepFinder(scalars, printer).findBias(body.getTerminator()->getOperand(0));
}

static std::string print(const BiasStep &step, MLIRContext *context) {
  std::string number = ExpressionPrinter::print(FloatAttr::get(Float32Type::get(context), step.number)).text;
  if (step.factor.empty())
    return number;
  return std::abs(step.number) == 1 ? (step.number < 0 ? "-" : "") + step.factor : number + " * " + step.factor;
}

std::string LinearBias::print(MLIRContext *context) const {
  auto print = [](bool value) { return value ? "true" : "false"; };
  bool isOfDistance = ofQuery.number == -ofKey.number && ofQuery.factor == ofKey.factor;
  return std::string("    static constexpr bool biasHasSteps = ") + print(hasSteps()) +
         ", biasIsOfDistance = " + print(isOfDistance) +
         ";\n    __device__ BiasSteps getBiasSteps(int batch, int head) const { return {" + ::print(ofQuery, context) +
         ", " + ::print(ofKey, context) + "}; }\n";
}
