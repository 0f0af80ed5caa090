//===- ScoreText.cpp - Score functions as CUDA C++ ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreText.h"

#include "ExpressionPrinter.h"
#include "cs336/Codegen/ScoreToScalars.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {
/// Prints one function of scalars.
class FunctionPrinter {
public:
  FunctionPrinter(raw_ostream &os, const DeviceKernel &kernel, ArrayRef<unsigned> tables, bool isRough)
      : os(os), kernel(kernel), tables(tables), isRough(isRough) {}

  void print(func::FuncOp scalars, StringRef name, bool returnsDerivative);

private:
  Expression lookUp(Value value) const { return expressions.lookup(value); }
  Expression printExtract(tensor::ExtractOp op) const;
  void printOperation(Operation &op);

  raw_ostream &os;
  const DeviceKernel &kernel;
  ArrayRef<unsigned> tables;
  bool isRough;
  DenseMap<Value, Expression> expressions;
  unsigned numVariables = 0;
};
} // namespace

Expression FunctionPrinter::printExtract(tensor::ExtractOp op) const {
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

void FunctionPrinter::printOperation(Operation &op) {
  // Longer expressions have a variable.
  constexpr size_t longest = 48;
  Value result = op.getResult(0);
  Expression expression;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    expressions[result] = ExpressionPrinter::print(constant.getValue());
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    expression = printExtract(extract);
  else if (isRough && isa<math::TanhOp>(op))
    expression = Expression::call("approximateTanh", lookUp(op.getOperand(0)));
  else
    expression = ExpressionPrinter::print(
        &op, llvm::map_to_vector(op.getOperands(), [&](Value operand) { return lookUp(operand); }));
  bool isReturned = result.hasOneUse() && (*result.user_begin())->hasTrait<OpTrait::IsTerminator>();
  bool isShort = isReturned || (result.hasOneUse() && expression.text.size() <= longest);
  if (!isShort && !isa<IndexType>(result.getType())) {
    StringRef noun = isa<tensor::ExtractOp>(op) ? "element" : ExpressionPrinter::getNoun(&op);
    std::string variable = noun.str() + std::to_string(numVariables++);
    os << "      const " << ExpressionPrinter::getComputeType(result.getType()) << " " << variable << " = "
       << expression.text << ";\n";
    expression = {variable};
  }
  expressions[result] = expression;
}

void FunctionPrinter::print(func::FuncOp scalars, StringRef name, bool returnsDerivative) {
  Block &body = scalars.getBody().front();
  StringRef type = ExpressionPrinter::getComputeType(body.getArgument(score::kScore).getType());
  static constexpr StringLiteral arguments[] = {"score", "batch", "head", "query", "key"};
  for (auto [argument, text] : llvm::zip(body.getArguments(), arguments))
    expressions[argument] = {text.str()};
  os << "    __device__ " << type << " " << name << "(" << type << " score, int batch, int head, int query, int key";
  if (returnsDerivative)
    os << ", " << type << " &derivative";
  os << ") const {\n";
  for (Operation &op : body.without_terminator())
    printOperation(op);
  ValueRange yielded = body.getTerminator()->getOperands();
  if (returnsDerivative)
    os << "      derivative = " << lookUp(yielded[1]).text << ";\n";
  os << "      return " << lookUp(yielded[0]).text << ";\n    }\n";
}

//===----------------------------------------------------------------------===//
// The structure
//===----------------------------------------------------------------------===//

SmallVector<unsigned> ScoreText::getOperands() const {
  SmallVector<unsigned> operands(tables);
  llvm::sort(operands);
  operands.erase(llvm::unique(operands), operands.end());
  return operands;
}

unsigned ScoreText::getNumResults() const {
  return distances.onlyShifts ? 1 : function->getTerminator()->getNumOperands();
}

std::string ScoreText::whyUnknown(const DeviceKernel &kernel) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  FailureOr<func::FuncOp> scalars = lowerScoreToScalars(*function, getNumResults(), builder);
  if (failed(scalars))
    return "has a score function that does not become scalar code";
  for (Operation &op : scalars->getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp, tensor::ExtractOp>(op))
      continue;
    if (std::string reason = ExpressionPrinter::whyUnknown(&op); !reason.empty())
      return reason;
  }
  return "";
}

void ScoreText::emit(raw_ostream &os, const DeviceKernel &kernel) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  bool returnsDerivative = getNumResults() == 2;
  FailureOr<func::FuncOp> general = lowerScoreToScalars(*function, getNumResults(), builder);
  FailureOr<func::FuncOp> interior =
      lowerScoreToScalars(*function, getNumResults(), builder, distances.interiorComparisons);
  assert(succeeded(general) && succeeded(interior) && "the schedule rejects unknown functions");
  Block &inside = interior->getBody().front();
  bool interiorIsScore =
      distances.onlyHides && inside.getTerminator()->getOperand(0) == inside.getArgument(score::kScore);
  bool interiorIsGeneral = !interiorIsScore && distances.interiorComparisons.empty();
  auto print = [](bool value) { return value ? "true" : "false"; };
  os << "  struct Score {\n"
     << "    static constexpr bool exists = true, onlyHides = " << print(distances.onlyHides)
     << ", returnsDerivative = " << print(returnsDerivative) << ";\n"
     << "    static constexpr int firstDistance = " << distances.visible.first
     << ", lastDistance = " << distances.visible.last << ";\n"
     << "    static constexpr int firstInterior = " << distances.interior.first
     << ", lastInterior = " << distances.interior.last << ";\n"
     << "    static constexpr bool interiorIsScore = " << print(interiorIsScore)
     << ", interiorIsGeneral = " << print(interiorIsGeneral) << ";\n";
  for (unsigned operand : getOperands())
    os << "    const " << ExpressionPrinter::getStorageType(kernel.operands[operand].getElementType()) << " *"
       << kernel.getOperandName(operand) << ";\n";
  FunctionPrinter(os, kernel, tables, isRough).print(*general, "compute", returnsDerivative);
  if (!interiorIsScore && !interiorIsGeneral)
    FunctionPrinter(os, kernel, tables, isRough).print(*interior, "computeInterior", returnsDerivative);
  os << "  };\n";
}

std::string ScoreText::getInitializer(const DeviceKernel &kernel) const {
  auto names = llvm::map_to_vector(getOperands(), [&](unsigned operand) { return kernel.getOperandName(operand); });
  return "{" + llvm::join(names, ", ") + "}";
}
