//===- NamePortsPass.cpp - Functions without attributes as entries --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Statistics/PassCounter.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cs336;

namespace cs336 {
#define GEN_PASS_DEF_NAMEPORTSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

static bool isFloat(Type type) { return isa<FloatType>(cast<RankedTensorType>(type).getElementType()); }

/// Verifies ports that have a name already, as the dialect's verifier does.
static LogicalResult verifyPorts(func::FuncOp function, TypeRange types, StringRef port) {
  for (auto [index, type] : llvm::enumerate(types))
    if (!isStorable(type))
      return function.emitError() << port << " " << index << " of @" << function.getSymName() << " must be "
                                  << kStorable << ", is " << type;
  return success();
}

namespace {
class NamePortsPass : public cs336::impl::NamePortsPassBase<NamePortsPass>, public CountingPass {
public:
  using NamePortsPassBase::NamePortsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (getMode(function) || function.isPrivate() || function.isExternal())
        continue;
      if (failed(verifyPorts(function, function.getArgumentTypes(), "argument")) ||
          failed(verifyPorts(function, function.getResultTypes(), "result")))
        return signalPassFailure();
      function->setAttr(CS336Dialect::kModeAttr, ModeAttr::get(&getContext(), mode));
      nameArguments(function);
      nameResults(function);
      ++numEntries;
    }
  }

private:
  bool hasBackward() const { return mode == Mode::ForwardBackward; }

  /// Adds the kind and the name if the port lacks them, and keeps other attributes.
  DictionaryAttr complete(DictionaryAttr attributes, StringRef kind, const Twine &name) {
    NamedAttrList list(attributes);
    Builder builder(&getContext());
    if (!list.get(CS336Dialect::kKindAttr))
      list.set(CS336Dialect::kKindAttr, builder.getStringAttr(kind));
    if (!list.get(CS336Dialect::kNameAttr))
      list.set(CS336Dialect::kNameAttr, builder.getStringAttr(name));
    return list.getDictionary(&getContext());
  }

  /// Returns `name`, with a number if the caller has given this name to another port.
  static std::string makeName(const std::string &name, const llvm::StringSet<> &taken) {
    std::string free = name;
    for (int next = 1; taken.contains(free); ++next)
      free = name + "_" + std::to_string(next);
    return free;
  }

  void nameArguments(func::FuncOp function) {
    llvm::StringSet<> taken;
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      taken.insert(getPortName(function.getArgAttrDict(index)));
    SmallVector<DictionaryAttr> ports;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
      StringRef kind = hasBackward() && isFloat(type) ? port::kParameter : port::kInput;
      ports.push_back(complete(function.getArgAttrDict(index), kind, makeName("arg" + std::to_string(index), taken)));
    }
    function.setAllArgAttrs(ports);
  }

  void nameResults(func::FuncOp function) {
    llvm::StringSet<> taken;
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      taken.insert(getPortName(function.getResultAttrDict(index)));
    SmallVector<DictionaryAttr> ports;
    for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
      bool isLoss = mode != Mode::Forward && index == 0 && isFloat(type) && cast<RankedTensorType>(type).getRank() == 0;
      std::string name = isLoss ? "loss" : "result" + std::to_string(index);
      ports.push_back(complete(function.getResultAttrDict(index), port::kOutput, makeName(name, taken)));
    }
    function.setAllResultAttrs(ports);
  }

  PassCounter numEntries{this, "num-entries", "Number of functions made entry points"};
};
} // namespace
