//===- ScoreText.cpp - Score functions as CUDA C++ ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreText.h"

#include "ExpressionPrinter.h"
#include "LinearBias.h"
#include "ScoreFunctionPrinter.h"
#include "ScoreInspection.h"
#include "cs336/Codegen/ScoreToScalars.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

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

func::FuncOp ScoreText::lower(ModuleOp module, const DenseMap<Operation *, bool> &known) const {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  FailureOr<func::FuncOp> scalars = lowerScoreToScalars(*function, getNumResults(), builder, known);
  assert(succeeded(scalars) && "the schedule rejects unknown functions");
  return *scalars;
}

bool ScoreText::hidesTiles(const DeviceKernel &kernel) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  func::FuncOp scalars = lower(*module);
  return ScoreInspection(scalars, scalars, ScoreFunctionPrinter(kernel, tables, isRough)).hidesTiles();
}

/// Gives the conditions of `interior` the results that they have in tiles that are whole.
static void assumeWhole(func::FuncOp interior, const ScoreInspection &inspection) {
  [[maybe_unused]] LogicalResult folded = assumeConditions(interior, inspection.getConditionsOfWhole());
  assert(succeeded(folded) && "folding scalar code does not fail");
}

std::optional<SoftCap> ScoreText::findCap(func::FuncOp interior) const {
  if (!capsWithExponentials || inspectsTiles || getNumResults() != 1 || distances.interior != distances.visible)
    return std::nullopt;
  return SoftCap::find(interior, scale);
}

bool ScoreText::hasBiasSteps(const DeviceKernel &kernel) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  func::FuncOp interior = lower(*module, distances.interiorChoices);
  std::optional<LinearBias> bias = LinearBias::find(interior, ScoreFunctionPrinter(kernel, tables, isRough));
  return bias && bias->hasSteps();
}

bool ScoreText::isInteriorOrHidden(const DeviceKernel &kernel) const {
  if (distances.interior != distances.visible)
    return false;
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  func::FuncOp interior = lower(*module, distances.interiorChoices);
  ScoreFunctionPrinter printer(kernel, tables, isRough);
  if (inspectsTiles)
    assumeWhole(interior, ScoreInspection(lower(*module), interior, printer));
  Block &inside = interior.getBody().front();
  if (distances.onlyHides)
    return inside.getTerminator()->getOperand(0) == inside.getArgument(score::kScore);
  return !inspectsTiles && getNumResults() == 1 && (LinearBias::find(interior, printer) || findCap(interior));
}

void ScoreText::emit(raw_ostream &os, const DeviceKernel &kernel) const {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.source->getLoc());
  bool returnsDerivative = getNumResults() == 2;
  func::FuncOp general = lower(*module), interior = lower(*module, distances.interiorChoices);
  ScoreFunctionPrinter printer(kernel, tables, isRough);
  std::string inspect;
  bool isGeneralInside = distances.interiorChoices.empty();
  if (inspectsTiles) {
    ScoreInspection inspection(general, interior, printer);
    inspect = inspection.print();
    isGeneralInside &= inspection.getConditionsOfWhole().empty();
    assumeWhole(interior, inspection);
  }
  Block &inside = interior.getBody().front();
  bool interiorIsScore =
      distances.onlyHides && inside.getTerminator()->getOperand(0) == inside.getArgument(score::kScore);
  bool interiorIsGeneral = !interiorIsScore && isGeneralInside;
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
  printer.printFunction(os, general, "compute", returnsDerivative);
  if (!interiorIsScore && !interiorIsGeneral)
    printer.printFunction(os, interior, "computeInterior", returnsDerivative);
  if (addsBiasInSteps && !distances.onlyHides && !returnsDerivative)
    if (std::optional<LinearBias> bias = LinearBias::find(interior, printer))
      os << bias->print(kernel.source->getContext());
  if (multipliesBiasSteps)
    os << "    static constexpr bool multipliesSteps = true;\n";
  if (std::optional<SoftCap> cap = findCap(interior))
    os << cap->print(kernel.source->getContext());
  os << inspect << "  };\n";
}

std::string ScoreText::getInitializer(const DeviceKernel &kernel) const {
  auto names = llvm::map_to_vector(getOperands(), [&](unsigned operand) { return kernel.getOperandName(operand); });
  return "{" + llvm::join(names, ", ") + "}";
}
