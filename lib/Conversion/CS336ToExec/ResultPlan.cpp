//===- ResultPlan.cpp - Destinations of a function's results --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlan.h"

using namespace mlir;
using namespace cs336;

void ResultPlan::addOutput(Value value, Value storage) {
  outputOf.try_emplace(value, outputs.size());
  outputs.push_back({value, storage});
}

void ResultPlan::addVariable(Value value, Value storage, Value oldValue) {
  // A variable that keeps its value needs no command.
  if (value == oldValue)
    return;
  variableOf.try_emplace(value, variables.size());
  variables.push_back({value, storage, oldValue});
}

OutputResult *ResultPlan::findOutput(Value value) {
  auto found = outputOf.find(value);
  return found == outputOf.end() ? nullptr : &outputs[found->second];
}

VariableResult *ResultPlan::findVariable(Value value) {
  auto found = variableOf.find(value);
  return found == variableOf.end() ? nullptr : &variables[found->second];
}
