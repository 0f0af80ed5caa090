//===- PrepareFunction.cpp - What is computed once after loading ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareFunction.h"

#include "cs336/Dialect/CS336/IR/Ports.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace cs336;

PrepareFunction::PrepareFunction(ModuleOp module) : module(module) {
  for (auto candidate : module.getOps<func::FuncOp>())
    if (getMode(candidate) == Mode::Prepare && !candidate.isExternal())
      function = candidate;
  if (!function)
    return;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr port = function.getResultAttrDict(index);
    results.push_back(value);
    ports.push_back(port ? port : DictionaryAttr::get(module.getContext()));
    names.insert(getPortName(port));
  }
}

func::FuncOp PrepareFunction::getFunction() {
  if (function)
    return function;
  OpBuilder builder(module.getContext());
  function = func::FuncOp::create(module.getLoc(), "prepare", builder.getFunctionType({}, {}));
  function->setAttr(CS336Dialect::kModeAttr, ModeAttr::get(module.getContext(), Mode::Prepare));
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::ReturnOp::create(builder, module.getLoc());
  SymbolTable(module).insert(function);
  return function;
}

OpBuilder PrepareFunction::getBuilder() { return OpBuilder(getFunction().getBody().front().getTerminator()); }

FailureOr<Value> PrepareFunction::getArgument(Type type, DictionaryAttr port, Location loc) {
  func::FuncOp target = getFunction();
  if (std::optional<unsigned> found = findArgument(target, getPortName(port)))
    return Value(target.getArgument(*found));
  unsigned index = target.getNumArguments();
  if (failed(target.insertArgument(index, type, port, loc)))
    return failure();
  return Value(target.getArgument(index));
}

void PrepareFunction::addResult(Value value, StringRef name) {
  names.insert(name);
  results.push_back(value);
  ports.push_back(makePort(module.getContext(), port::kDerived, name));
}

void PrepareFunction::finish() {
  if (!function)
    return;
  function.getBody().front().getTerminator()->setOperands(results);
  function.setFunctionType(
      FunctionType::get(module.getContext(), function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(ports);
}
