//===- Ports.cpp - Arguments and results of entry points ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Ports.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cs336;

std::optional<Mode> cs336::getMode(Operation *function) {
  if (auto mode = function->getAttrOfType<ModeAttr>(CS336Dialect::kModeAttr))
    return mode.getValue();
  return std::nullopt;
}

static StringRef getString(DictionaryAttr attributes, StringRef name) {
  auto string = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return string ? string.getValue() : StringRef();
}

StringRef cs336::getPortKind(DictionaryAttr attributes) { return getString(attributes, CS336Dialect::kKindAttr); }
StringRef cs336::getPortName(DictionaryAttr attributes) { return getString(attributes, CS336Dialect::kNameAttr); }
ArrayAttr cs336::getPortViews(DictionaryAttr attributes) {
  return attributes ? attributes.getAs<ArrayAttr>(CS336Dialect::kViewsAttr) : ArrayAttr();
}

int64_t cs336::getPortShards(DictionaryAttr attributes) {
  auto shards = attributes ? attributes.getAs<IntegerAttr>(CS336Dialect::kShardsAttr) : IntegerAttr();
  return shards && shards.getType().isSignlessInteger(64) ? shards.getInt() : 1;
}

DictionaryAttr cs336::withShards(MLIRContext *context, DictionaryAttr attributes, int64_t shards) {
  NamedAttrList list(attributes);
  list.erase(CS336Dialect::kShardsAttr);
  if (shards != 1)
    list.set(CS336Dialect::kShardsAttr, Builder(context).getI64IntegerAttr(shards));
  return list.getDictionary(context);
}

DictionaryAttr cs336::makePort(MLIRContext *context, StringRef kind, StringRef name, ArrayAttr views, InitAttr init,
                               int64_t shards) {
  Builder builder(context);
  SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(CS336Dialect::kKindAttr, builder.getStringAttr(kind)),
                                            builder.getNamedAttr(CS336Dialect::kNameAttr, builder.getStringAttr(name))};
  if (views)
    attributes.push_back(builder.getNamedAttr(CS336Dialect::kViewsAttr, views));
  if (init)
    attributes.push_back(builder.getNamedAttr(CS336Dialect::kInitAttr, init));
  return withShards(context, builder.getDictionaryAttr(attributes), shards);
}

std::optional<unsigned> cs336::findArgument(FunctionOpInterface function, StringRef kind, StringRef name) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    DictionaryAttr attributes = function.getArgAttrDict(index);
    if (getPortKind(attributes) == kind && getPortName(attributes) == name)
      return index;
  }
  return std::nullopt;
}

std::optional<unsigned> cs336::findResult(FunctionOpInterface function, StringRef kind, StringRef name) {
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    DictionaryAttr attributes = function.getResultAttrDict(index);
    if (getPortKind(attributes) == kind && getPortName(attributes) == name)
      return index;
  }
  return std::nullopt;
}

bool cs336::hasResultOfKind(FunctionOpInterface function, StringRef kind) {
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (getPortKind(function.getResultAttrDict(index)) == kind)
      return true;
  return false;
}
