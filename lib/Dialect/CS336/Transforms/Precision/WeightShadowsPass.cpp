//===- WeightShadowsPass.cpp - Low-precision weights as state -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PrepareFunction.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace cs336 {
#define GEN_PASS_DEF_WEIGHTSHADOWSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

/// Returns the parameter that `cast` rounds to a narrower floating-point type, or null. The parameter may be the
/// operand of a barrier, before the second gather of a sharded parameter.
static BlockArgument getRoundedParameter(CastOp cast, func::FuncOp function) {
  auto barrier = cast.getOperand().getDefiningOp<BarrierOp>();
  auto argument = dyn_cast<BlockArgument>(barrier ? barrier.getOperand() : cast.getOperand());
  auto from = dyn_cast<FloatType>(cast.getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(cast.getType().getElementType());
  if (!argument || !from || !to || to.getWidth() >= from.getWidth())
    return nullptr;
  DictionaryAttr port = function.getArgAttrDict(argument.getArgNumber());
  return getPortKind(port) == port::kParameter && !getPortName(port).empty() ? argument : nullptr;
}

static constexpr RemarkOptions weightShadowsRemarks("cs336-weight-shadows");

static std::string getShadowName(StringRef parameter, Type elementType) {
  std::string name = "shadow.";
  llvm::raw_string_ostream(name) << elementType << '.' << parameter;
  return name;
}

/// Returns the attributes of the derived weight `name`. It has the shards of its parameter.
static DictionaryAttr makeShadowPort(StringRef name, DictionaryAttr parameter) {
  return makePort(parameter.getContext(), port::kDerived, name, /*views=*/nullptr, /*init=*/nullptr,
                  getPortShards(parameter));
}

/// Makes all uses of the casts, of one parameter to one type, read `shadow`. Those behind a barrier read it behind one
/// barrier in the same place.
static void replaceAll(ArrayRef<CastOp> casts, Value shadow) {
  llvm::DenseMap<BarrierOp, Value> barriers;
  for (CastOp cast : casts) {
    auto barrier = cast.getOperand().getDefiningOp<BarrierOp>();
    Value value = shadow;
    if (barrier) {
      Value &moved = barriers[barrier];
      if (!moved) {
        OpBuilder builder(barrier);
        moved = BarrierOp::create(builder, barrier.getLoc(), shadow);
      }
      value = moved;
    }
    cast.replaceAllUsesWith(value);
    cast.erase();
  }
  for (auto [barrier, moved] : barriers)
    if (barrier->use_empty())
      barrier->erase();
}

namespace {
/// A parameter, as one of the functions describes it, and the types that it is rounded to.
struct Shadowed {
  DictionaryAttr port;
  RankedTensorType type;
  Location loc;
  llvm::SmallSetVector<Type, 1> elementTypes;
};

class WeightShadowsPass : public cs336::impl::WeightShadowsPassBase<WeightShadowsPass>, public CountingPass {
public:
  using WeightShadowsPassBase::WeightShadowsPassBase;

private:
  void runOnOperation() override;
  void collect(func::FuncOp function);
  LogicalResult replaceCasts(func::FuncOp function);
  LogicalResult updateShadows(func::FuncOp function);
  void prepareShadows();

  /// Keyed by the parameter's name.
  llvm::MapVector<StringAttr, Shadowed> shadowed;

  PassCounter numShadows{this, "num-shadows", "Number of shadows"};
  PassCounter numCasts{this, "num-casts", "Number of casts of parameters replaced"};
  PassCounter numUpdates{this, "num-updates", "Number of shadows that an update writes"};
};
} // namespace

void WeightShadowsPass::collect(func::FuncOp function) {
  for (auto cast : function.getOps<CastOp>()) {
    BlockArgument parameter = getRoundedParameter(cast, function);
    if (!parameter)
      continue;
    DictionaryAttr port = function.getArgAttrDict(parameter.getArgNumber());
    auto [entry, isNew] = shadowed.insert({port.getAs<StringAttr>(CS336Dialect::kNameAttr),
                                           Shadowed{port, tensorType(parameter), parameter.getLoc(), {}}});
    numShadows += entry->second.elementTypes.insert(cast.getType().getElementType());
  }
}

/// Replaces casts of the parameter with reads of the derived weight.
LogicalResult WeightShadowsPass::replaceCasts(func::FuncOp function) {
  llvm::MapVector<std::pair<BlockArgument, Type>, SmallVector<CastOp>> casts;
  for (auto cast : function.getOps<CastOp>())
    if (BlockArgument parameter = getRoundedParameter(cast, function))
      casts[{parameter, cast.getType()}].push_back(cast);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> ports;
  SmallVector<Location> locations;
  for (auto &[key, equal] : casts) {
    auto [parameter, type] = key;
    DictionaryAttr port = function.getArgAttrDict(parameter.getArgNumber());
    StringRef parameterName = getPortName(port);
    std::string name = getShadowName(parameterName, cast<RankedTensorType>(type).getElementType());
    types.push_back(type);
    ports.push_back(makeShadowPort(name, port));
    locations.push_back(parameter.getLoc());
    remark::passed(equal.front().getLoc(), weightShadowsRemarks("Shadowed")) << remark::add(
        "@{0} reads '{1}' instead of rounding '{2}'", function.getSymName().str(), name, parameterName.str());
  }
  // Inserts all arguments at once, because each insertion copies the attributes of all arguments.
  unsigned first = function.getNumArguments();
  if (failed(function.insertArguments(SmallVector<unsigned>(types.size(), first), types, ports, locations)))
    return failure();
  for (auto [index, entry] : llvm::enumerate(casts)) {
    replaceAll(entry.second, function.getArgument(first + index));
    numCasts += entry.second.size();
  }
  return success();
}

/// Returns `value` rounded to each of the types. The casts join the kernel of the element-wise operation that computes
/// `value`, so that rounding costs a write and no read.
static SmallVector<Value> roundNewValue(Value value, ArrayRef<Type> elementTypes, Operation *terminator) {
  RankedTensorType type = tensorType(value);
  Operation *producer = value.getDefiningOp();
  auto fusible = dyn_cast_if_present<FusibleOpInterface>(producer);
  bool canGroup = fusible && fusible.getFusionKind() == FusionKind::Pointwise && producer->getNumRegions() == 0;
  Location loc = producer ? producer->getLoc() : terminator->getLoc();
  OpBuilder builder(terminator);
  SmallVector<Value> rounded;
  if (!canGroup) {
    for (Type elementType : elementTypes)
      rounded.push_back(CastOp::create(builder, loc, type.clone(elementType), value));
    return rounded;
  }

  builder.setInsertionPoint(producer);
  llvm::SmallSetVector<Value, 8> inputs(producer->operand_begin(), producer->operand_end());
  SmallVector<Type> types(producer->getResultTypes());
  for (Type elementType : elementTypes)
    types.push_back(type.clone(elementType));
  auto fused = FusedOp::create(builder, loc, types, inputs.getArrayRef());
  Block &body = fused.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> yielded(builder.clone(*producer, mapping)->getResults());
  for (Type elementType : elementTypes)
    yielded.push_back(CastOp::create(builder, loc, type.clone(elementType), mapping.lookup(value)));
  YieldOp::create(builder, loc, yielded);

  unsigned numResults = producer->getNumResults();
  producer->replaceAllUsesWith(fused.getResults().take_front(numResults));
  producer->erase();
  return llvm::to_vector_of<Value>(fused.getResults().drop_front(numResults));
}

/// Makes a function that writes a parameter also write its derived weights.
LogicalResult WeightShadowsPass::updateShadows(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::StringMap<unsigned> newValues;
  llvm::StringSet<> derived;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    DictionaryAttr port = function.getResultAttrDict(index);
    if (getPortKind(port) == port::kParameter)
      newValues.try_emplace(getPortName(port), index);
    else if (getPortKind(port) == port::kDerived)
      derived.insert(getPortName(port));
  }
  // If a parameter's result is its argument, its value does not change.
  auto isKept = [&](Value value, StringRef name) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && getPortName(function.getArgAttrDict(argument.getArgNumber())) == name;
  };
  SmallVector<Value> added;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> ports;
  for (auto &[name, parameter] : shadowed) {
    auto found = newValues.find(name);
    if (found == newValues.end() || isKept(terminator->getOperand(found->second), name))
      continue;
    SmallVector<Type> elementTypes = llvm::filter_to_vector(
        parameter.elementTypes, [&](Type elementType) { return !derived.contains(getShadowName(name, elementType)); });
    if (elementTypes.empty())
      continue;
    for (Value value : roundNewValue(terminator->getOperand(found->second), elementTypes, terminator)) {
      types.push_back(value.getType());
      added.push_back(value);
      ++numUpdates;
    }
    for (Type elementType : elementTypes)
      ports.push_back(makeShadowPort(getShadowName(name, elementType), parameter.port));
  }
  // Inserts all results at once, because each insertion copies the attributes of all results.
  if (failed(function.insertResults(SmallVector<unsigned>(types.size(), function.getNumResults()), types, ports)))
    return failure();
  terminator->insertOperands(terminator->getNumOperands(), added);
  return success();
}

void WeightShadowsPass::prepareShadows() {
  PrepareFunction prepare(getOperation());
  for (auto &[name, parameter] : shadowed) {
    Value argument = prepare.getArgument(parameter.type, parameter.port, parameter.loc);
    for (Type elementType : parameter.elementTypes) {
      std::string shadow = getShadowName(name, elementType);
      if (prepare.returns(shadow))
        continue;
      OpBuilder builder = prepare.getBuilder();
      prepare.addResult(CastOp::create(builder, parameter.loc, parameter.type.clone(elementType), argument), shadow,
                        getPortShards(parameter.port));
    }
  }
  prepare.finish();
}

void WeightShadowsPass::runOnOperation() {
  shadowed.clear();
  SmallVector<func::FuncOp> functions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    std::optional<Mode> mode = getMode(function);
    if (!mode || *mode == Mode::Prepare || function.isExternal())
      continue;
    if (function.getBody().hasOneBlock())
      functions.push_back(function);
    else
      remark::missed(function.getLoc(), weightShadowsRemarks("NoShadows"))
          << remark::add("@{0} has several blocks and goes on rounding its parameters", function.getName());
  }
  for (func::FuncOp function : functions)
    collect(function);
  if (shadowed.empty()) {
    remark::missed(getOperation().getLoc(), weightShadowsRemarks("NoShadows"))
        << remark::add("no entry rounds a parameter to fewer bits, as autocast makes them do");
    return;
  }
  for (func::FuncOp function : functions)
    if (failed(replaceCasts(function)) || failed(updateShadows(function)))
      return signalPassFailure();
  prepareShadows();
}
