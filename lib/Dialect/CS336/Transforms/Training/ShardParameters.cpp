//===- ShardParameters.cpp - Parameters as parts, one per rank ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardParameters.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Support/LayerPath.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions shardParametersRemarks("cs336-distribute");

namespace {
/// One parameter in one element type, and the operands that read it in one half of the function.
struct Gather {
  BlockArgument parameter;
  Type elementType;
  bool isAgain;
  StringRef layer;
  SmallVector<OpOperand *> uses;
  Operation *firstUse = nullptr;
};

/// Keyed by parameter and element type.
using Gathers = llvm::MapVector<std::pair<Value, Type>, Gather>;

/// Gathers in one collective, with consecutive first uses.
using Unit = SmallVector<const Gather *>;

/// Rewrites one function.
class ParameterSharder {
public:
  ParameterSharder(func::FuncOp function, const Sharding &sharding)
      : function(function), block(function.getBody().front()), sharding(sharding) {}

  LogicalResult run();

  ShardedParameters result;

private:
  StringRef getName(BlockArgument argument) { return getPortName(function.getArgAttrDict(argument.getArgNumber())); }
  bool mayShard(BlockArgument argument);
  LogicalResult checkResults();
  void findBackward();
  void collectUses(BlockArgument parameter);
  void addUse(BlockArgument parameter, Type elementType, OpOperand &use);
  void divide(BlockArgument parameter);
  static SmallVector<Unit> chooseUnits(const Gathers &gathers);
  SmallVector<Unit> joinLayers(ArrayRef<Unit> layers) const;
  bool keepLastUnit(const Unit &last);
  void gatherUnits(ArrayRef<Unit> units, Operation *start);
  void gather(const Unit &unit, Operation *position);

  func::FuncOp function;
  Block &block;
  const Sharding &sharding;
  /// The first operation of the backward pass, if it gathers again.
  Operation *backward = nullptr;
  Gathers first, again;
  SmallVector<CastOp> casts;
};
} // namespace

/// Returns whether the cast rounds to a narrower floating-point type.
static bool isNarrowing(CastOp cast) {
  auto from = dyn_cast<FloatType>(cast.getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(cast.getType().getElementType());
  return from && to && to.getWidth() < from.getWidth();
}

static bool hasShardableType(RankedTensorType type) {
  return type.getRank() >= 2 && isa<FloatType>(type.getElementType());
}

bool cs336::isShardable(RankedTensorType type, int64_t ranks) {
  return hasShardableType(type) && type.getDimSize(0) % ranks == 0;
}

bool ParameterSharder::mayShard(BlockArgument argument) {
  DictionaryAttr port = function.getArgAttrDict(argument.getArgNumber());
  if (getPortKind(port) != port::kParameter || getPortShards(port) != 1)
    return false;
  RankedTensorType type = tensorType(argument);
  if (!hasShardableType(type)) {
    ++result.numSmall;
    return false;
  }
  if (isShardable(type, sharding.worldSize))
    return true;
  ++result.numIndivisible;
  remark::missed(argument.getLoc(), shardParametersRemarks("Replicated"))
      << remark::add("@{0}: all ranks keep '{1}' whole: {2} ranks do not divide its {3} rows", function.getName(),
                     getPortName(port), sharding.worldSize, type.getDimSize(0));
  return false;
}

/// Rejects functions that return the new value of a sharded parameter, which would have to be divided, too.
LogicalResult ParameterSharder::checkResults() {
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    DictionaryAttr port = function.getResultAttrDict(index);
    if (getPortKind(port) == port::kParameter && result.names.contains(getPortName(port)))
      return function.emitOpError() << "returns the new value of '" << getPortName(port)
                                    << "', which would be sharded; run --cs336-distribute before --cs336-optimizer";
  }
  return success();
}

void ParameterSharder::findBackward() {
  auto isBackward = [](Operation &op) { return getPhase(op.getLoc()) == Phase::Backward; };
  auto found = llvm::find_if(block.without_terminator(), isBackward);
  if (sharding.gatherAgain && found != block.without_terminator().end())
    backward = &*found;
}

void ParameterSharder::addUse(BlockArgument parameter, Type elementType, OpOperand &use) {
  Operation *user = block.findAncestorOpInBlock(*use.getOwner());
  bool isAgain = backward && !user->isBeforeInBlock(backward);
  Gather &gather = (isAgain ? again : first)[{parameter, elementType}];
  if (!gather.firstUse)
    gather = {parameter, elementType, isAgain, getLayerOrPath(getName(parameter)), {}, user};
  gather.uses.push_back(&use);
  if (user->isBeforeInBlock(gather.firstUse))
    gather.firstUse = user;
}

void ParameterSharder::collectUses(BlockArgument parameter) {
  for (OpOperand &use : parameter.getUses()) {
    auto cast = dyn_cast<CastOp>(use.getOwner());
    if (!cast || !isNarrowing(cast)) {
      addUse(parameter, tensorType(parameter).getElementType(), use);
      continue;
    }
    casts.push_back(cast);
    for (OpOperand &castUse : cast->getUses())
      addUse(parameter, cast.getType().getElementType(), castUse);
  }
}

void ParameterSharder::divide(BlockArgument parameter) {
  RankedTensorType type = tensorType(parameter);
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= sharding.worldSize;
  parameter.setType(type.clone(shape));
  unsigned index = parameter.getArgNumber();
  function.setArgAttrs(index, withShards(function.getContext(), function.getArgAttrDict(index), sharding.worldSize));
}

/// Returns the gathers that have uses, in the order of their first uses: those of a layer as one unit.
SmallVector<Unit> ParameterSharder::chooseUnits(const Gathers &gathers) {
  SmallVector<const Gather *> order;
  for (auto &[key, gather] : gathers)
    if (!gather.uses.empty())
      order.push_back(&gather);
  llvm::stable_sort(order, [](const Gather *a, const Gather *b) {
    if (a->firstUse != b->firstUse)
      return a->firstUse->isBeforeInBlock(b->firstUse);
    return a->parameter.getArgNumber() < b->parameter.getArgNumber();
  });
  SmallVector<Unit> units;
  for (const Gather *gather : order) {
    if (units.empty() || units.back().front()->layer != gather->layer)
      units.emplace_back();
    units.back().push_back(gather);
  }
  return units;
}

/// Returns units of several layers, in the same order.
SmallVector<Unit> ParameterSharder::joinLayers(ArrayRef<Unit> layers) const {
  SmallVector<Unit> units;
  for (size_t begin = 0; begin < layers.size();) {
    size_t most = std::clamp<size_t>(begin / 4, 1, sharding.layersPerGather);
    ArrayRef<Unit> joined = layers.slice(begin, std::min(most, layers.size() - begin));
    units.emplace_back();
    for (const Unit &layer : joined)
      llvm::append_range(units.back(), layer);
    begin += joined.size();
  }
  return units;
}

/// Makes the backward pass read the last values that the forward pass gathers: only the loss is between their uses.
/// Returns whether it reads any of them.
bool ParameterSharder::keepLastUnit(const Unit &last) {
  bool isKept = false;
  for (const Gather *each : last) {
    std::pair<Value, Type> key(each->parameter, each->elementType);
    if (auto found = again.find(key); found != again.end()) {
      first[key].uses.append(found->second.uses);
      found->second.uses.clear();
      isKept = true;
    }
  }
  return isKept;
}

/// Places the gather of each unit before the first use of the unit `prefetch` positions earlier, or at `start`.
void ParameterSharder::gatherUnits(ArrayRef<Unit> units, Operation *start) {
  auto prefetch = static_cast<size_t>(sharding.prefetch);
  for (auto [index, unit] : llvm::enumerate(units))
    gather(unit, index >= prefetch ? units[index - prefetch].front()->firstUse : start);
}

void ParameterSharder::gather(const Unit &unit, Operation *position) {
  StringRef layer = unit.front()->layer, lastLayer = unit.back()->layer;
  std::string name = unit.size() == 1 ? getName(unit.front()->parameter).str() : layer.str();
  if (layer != lastLayer)
    name += (" to " + lastLayer).str();
  Location loc = inPhase(Phase::Communication, NameLoc::get(StringAttr::get(function.getContext(), name)));
  OpBuilder builder(position);
  SmallVector<Value> parts;
  SmallVector<Type> types;
  for (const Gather *each : unit) {
    Value part = each->parameter;
    // Without the barrier, the second gather would be recognised as equal to the first.
    if (each->isAgain)
      part = BarrierOp::create(builder, loc, part);
    RankedTensorType type = tensorType(part).clone(each->elementType);
    if (part.getType() != type)
      part = CastOp::create(builder, loc, type, part);
    parts.push_back(part);
    SmallVector<int64_t> shape(type.getShape());
    shape[0] *= sharding.worldSize;
    types.push_back(type.clone(shape));
  }
  auto collective =
      CollectiveOp::create(builder, loc, types, CollectiveKind::AllGather, /*reduction=*/CollectiveReductionAttr(),
                           parts, sharding.worldSize, /*root=*/IntegerAttr());
  for (auto [each, whole] : llvm::zip_equal(unit, collective.getResults())) {
    for (OpOperand *use : each->uses)
      use->set(whole);
    result.gatheredBytes += getTensorBytes(whole);
  }
  ++result.numGathers;
}

LogicalResult ParameterSharder::run() {
  findBackward();
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : function.getArguments())
    if (mayShard(argument))
      parameters.push_back(argument);
  for (BlockArgument parameter : parameters)
    result.names.insert(getName(parameter));
  if (failed(checkResults()))
    return failure();
  for (BlockArgument parameter : parameters) {
    collectUses(parameter);
    divide(parameter);
  }
  SmallVector<Unit> forwardUnits = joinLayers(chooseUnits(first));
  bool isKept = !forwardUnits.empty() && keepLastUnit(forwardUnits.back());
  SmallVector<Unit> backwardUnits = chooseUnits(again);
  auto getFirstUse = [](ArrayRef<Unit> units) { return units.empty() ? nullptr : units.front().front()->firstUse; };
  gatherUnits(forwardUnits, getFirstUse(forwardUnits));
  // If a unit is kept, the first gathers start with the backward pass, which uses the kept unit before theirs.
  gatherUnits(backwardUnits, isKept ? backward : getFirstUse(backwardUnits));
  for (CastOp cast : casts)
    cast.erase();
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  return success();
}

FailureOr<ShardedParameters> cs336::shardParameters(func::FuncOp function, const Sharding &sharding) {
  ParameterSharder sharder(function, sharding);
  if (failed(sharder.run()))
    return failure();
  return std::move(sharder.result);
}
