//===- Variables.cpp - Storage that functions share by name -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variables.h"

#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

bool Port::isVariable() const { return kind == port::kParameter || kind == port::kState || kind == port::kDerived; }

static FailureOr<Port> readPort(func::FuncOp function, DictionaryAttr attributes, StringRef what, unsigned index,
                                StringRef kinds) {
  Port port{getPortKind(attributes), getPortName(attributes), attributes};
  if (port.kind.empty() || port.name.empty())
    return function.emitError() << what << ' ' << index << " of @" << function.getSymName() << " requires cs336.kind ("
                                << kinds << ") and cs336.name";
  return port;
}

FailureOr<Port> cs336::getArgumentPort(func::FuncOp function, unsigned index) {
  return readPort(function, function.getArgAttrDict(index), "argument", index, "parameter, state, derived or input");
}

FailureOr<Port> cs336::getResultPort(func::FuncOp function, unsigned index) {
  return readPort(function, function.getResultAttrDict(index), "result", index,
                  "output, gradient, parameter, state or derived");
}

namespace {
struct Variable {
  VariableKind kind;
  MemRefType type;
  ArrayAttr views;
  InitAttr init;
  /// Parts of a sharded variable, of which `type` is one; 1 for a whole variable.
  int64_t shards;
  func::FuncOp function;
};

/// Collects the variables of one function after another.
class VariableCollector {
public:
  LogicalResult collect(func::FuncOp function);
  void create(OpBuilder &builder) const;

private:
  LogicalResult add(func::FuncOp function, const Port &port, Type type);

  llvm::MapVector<StringRef, Variable> variables;
};
} // namespace

/// Merges the attribute `mine` of this function with `theirs` of an earlier function. Either may be absent; an error if
/// they differ.
template <typename AttrT>
static LogicalResult merge(AttrT &theirs, AttrT mine, StringRef what, StringRef name, func::FuncOp earlier,
                           func::FuncOp function) {
  if (theirs && mine && theirs != mine)
    return function.emitError() << '\'' << name << "' has " << what << ' ' << mine << " in @" << function.getSymName()
                                << ", but " << theirs << " in @" << earlier.getSymName();
  if (!theirs)
    theirs = mine;
  return success();
}

LogicalResult VariableCollector::add(func::FuncOp function, const Port &port, Type tensorType) {
  // Kinds of variables and of ports have the same names.
  VariableKind kind = *symbolizeVariableKind(port.kind);
  // Passes that pack variables may have created one that is too large.
  if (!isStorable(tensorType))
    return function.emitError() << '\'' << port.name << "' of @" << function.getSymName() << " must be " << kStorable
                                << ", is " << tensorType;
  auto tensor = cast<RankedTensorType>(tensorType);
  MemRefType type = getDenseType(tensor);
  auto init = port.attributes.getAs<InitAttr>(CS336Dialect::kInitAttr);
  ArrayAttr views = getPortViews(port.attributes);
  int64_t shards = getPortShards(port.attributes);
  auto [found, isNew] = variables.insert({port.name, Variable{kind, type, views, init, shards, function}});
  if (isNew)
    return success();
  Variable &variable = found->second;
  if (variable.type != type)
    return function.emitError() << '\'' << port.name << "' is a " << tensor << " in @" << function.getSymName()
                                << ", but a "
                                << RankedTensorType::get(variable.type.getShape(), variable.type.getElementType())
                                << " in @" << variable.function.getSymName();
  if (variable.kind != kind)
    return function.emitError() << '\'' << port.name << "' is " << port.kind << " in @" << function.getSymName()
                                << ", but " << stringifyVariableKind(variable.kind) << " in @"
                                << variable.function.getSymName();
  if (variable.shards != shards)
    return function.emitError() << '\'' << port.name << "' has " << shards << " shards in @" << function.getSymName()
                                << ", but " << variable.shards << " in @" << variable.function.getSymName();
  if (failed(merge(variable.views, views, "views", port.name, variable.function, function)))
    return failure();
  return merge(variable.init, init, "initial value", port.name, variable.function, function);
}

LogicalResult VariableCollector::collect(func::FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    FailureOr<Port> port = getArgumentPort(function, index);
    if (failed(port) || (port->isVariable() && failed(add(function, *port, type))))
      return failure();
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    FailureOr<Port> port = getResultPort(function, index);
    if (failed(port) || (port->isVariable() && failed(add(function, *port, type))))
      return failure();
  }
  return success();
}

void VariableCollector::create(OpBuilder &builder) const {
  for (const auto &[name, variable] : variables) {
    Location loc = NameLoc::get(builder.getStringAttr(name));
    IntegerAttr shards = variable.shards == 1 ? IntegerAttr() : builder.getI64IntegerAttr(variable.shards);
    VariableOp::create(builder, loc, name, variable.kind, variable.type, variable.views, variable.init, shards);
  }
}

LogicalResult cs336::createVariables(ArrayRef<func::FuncOp> functions, OpBuilder &builder) {
  VariableCollector collector;
  for (func::FuncOp function : functions)
    if (failed(collector.collect(function)))
      return failure();
  collector.create(builder);
  return success();
}
