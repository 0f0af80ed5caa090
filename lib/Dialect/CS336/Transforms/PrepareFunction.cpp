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
  auto getPort = [&](DictionaryAttr port) { return port ? port : DictionaryAttr::get(module.getContext()); };
  for (BlockArgument argument : function.getArguments()) {
    argumentPorts.push_back(getPort(function.getArgAttrDict(argument.getArgNumber())));
    arguments.try_emplace(getPortName(argumentPorts.back()), argument);
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr port = function.getResultAttrDict(index);
    results.push_back(value);
    ports.push_back(getPort(port));
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

Value PrepareFunction::getArgument(Type type, DictionaryAttr port, Location loc) {
  auto [argument, isNew] = arguments.try_emplace(getPortName(port));
  if (isNew) {
    argument->second = getFunction().getBody().addArgument(type, loc);
    argumentPorts.push_back(port);
  }
  return argument->second;
}

void PrepareFunction::addResult(Value value, StringRef name, int64_t shards) {
  names.insert(name);
  results.push_back(value);
  ports.push_back(makePort(module.getContext(), port::kDerived, name, /*views=*/nullptr, /*init=*/nullptr, shards));
}

void PrepareFunction::finish() {
  if (!function)
    return;
  function.getBody().front().getTerminator()->setOperands(results);
  function.setFunctionType(
      FunctionType::get(module.getContext(), function.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(argumentPorts);
  function.setAllResultAttrs(ports);
}
