//===- FunctionBuilder.cpp - A program, operation by operation ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Program/FunctionBuilder.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

FunctionBuilder::FunctionBuilder(ModuleOp module, Mode mode)
    : builder(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())) {
  function = func::FuncOp::create(builder, stringifyMode(mode), builder.getFunctionType({}, {}));
  function->setAttr(CS336Dialect::kModeAttr, ModeAttr::get(builder.getContext(), mode));
  body = builder.createBlock(&function.getBody());
}

NamedAttribute FunctionBuilder::makeText(StringRef attribute, StringRef value) {
  return builder.getNamedAttr(attribute, builder.getStringAttr(value));
}

Value FunctionBuilder::addArgument(RankedTensorType type, ArrayRef<NamedAttribute> argument) {
  attributes.push_back(builder.getDictionaryAttr(argument));
  return body->addArgument(type, builder.getLoc());
}

Value FunctionBuilder::addInput(StringRef name, RankedTensorType type) {
  return addArgument(type, {makeText(CS336Dialect::kKindAttr, "input"), makeText(CS336Dialect::kNameAttr, name)});
}

Value FunctionBuilder::addInitialized(StringRef name, StringRef kind, RankedTensorType type, InitAttr init) {
  return addArgument(type, {makeText(CS336Dialect::kKindAttr, kind), makeText(CS336Dialect::kNameAttr, name),
                            builder.getNamedAttr(CS336Dialect::kInitAttr, init)});
}

Value FunctionBuilder::addVariable(StringRef name, StringRef kind, RankedTensorType type) {
  constexpr double kCut = 3; // Standard deviations beyond which values are drawn again.
  auto init = InitAttr::get(builder.getContext(), InitKind::TruncatedNormal, /*std=*/1.0, kCut, 0.0);
  return addInitialized(name, kind, type, init);
}

Value FunctionBuilder::addState(StringRef name, RankedTensorType type) {
  return addInitialized(name, "state", type, InitAttr::get(builder.getContext(), InitKind::Zeros, 0.0, 0.0, 0.0));
}

void FunctionBuilder::at(const Twine &source) { builder.setLoc(NameLoc::get(builder.getStringAttr(source))); }

void FunctionBuilder::finish(ArrayRef<std::pair<std::string, Value>> outputs) {
  auto values = llvm::map_to_vector(outputs, [](const auto &output) { return output.second; });
  func::ReturnOp::create(builder, values);
  function.setType(builder.getFunctionType(body->getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllArgAttrs(attributes);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    function.setResultAttr(index, CS336Dialect::kKindAttr, builder.getStringAttr("output"));
    function.setResultAttr(index, CS336Dialect::kNameAttr, builder.getStringAttr(output.first));
  }
}
