//===- MergeGemmsPass.cpp - One GEMM for linears of one input -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedName.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <variant>

namespace cs336 {
#define GEN_PASS_DEF_MERGEGEMMSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
/// A linear whose weight is a parameter, possibly through a cast. No other operation reads the parameter.
struct Candidate {
  LinearOp linear;
  /// Null if the weight is read without a cast.
  CastOp cast;
  BlockArgument weight;
  DictionaryAttr port;

  RankedTensorType getStorageType() const { return llvm::cast<RankedTensorType>(weight.getType()); }
  StringRef getName() const { return getPortName(port); }
  InitAttr getInit() const { return port.getAs<InitAttr>(CS336Dialect::kInitAttr); }
};

/// Linears of one function that can become one, in the order of their weights.
using Group = SmallVector<Candidate, 4>;

/// The properties of a packed weight that must be equal in all functions that share it.
using GroupKey = SmallVector<std::pair<StringRef, Type>, 4>;

/// The groups of one function, also by their first weight, and the names of its parameters.
struct FunctionGroups {
  func::FuncOp function;
  SmallVector<Group> groups;
  llvm::StringMap<GroupKey> keys;
  llvm::StringSet<> parameters;
};

class MergeGemmsPass : public cs336::impl::MergeGemmsPassBase<MergeGemmsPass>, public CountingPass {
  void runOnOperation() override;
  bool canMergeEverywhere(Group &group, MutableArrayRef<FunctionGroups> functions, const llvm::StringSet<> &ambiguous);
  LogicalResult merge(FunctionGroups &functionGroups, const llvm::StringSet<> &refused);

  PassCounter numMerged{this, "num-merged", "Number of linears replaced"};
  PassCounter numPacked{this, "num-packed", "Number of packed linears made"};
};
} // namespace

static constexpr RemarkOptions mergeGemmsRemarks("cs336-merge-gemms");

static void remarkMissed(Location loc, const Twine &reason) {
  remark::missed(loc, mergeGemmsRemarks("NotMerged")) << remark::add("{0}", reason.str());
}

static GroupKey getKey(Group &group) {
  GroupKey key;
  for (Candidate &candidate : group)
    key.push_back({candidate.getName(), candidate.weight.getType()});
  return key;
}

static std::string getPackedName(Group &group) {
  SmallVector<StringRef> names;
  for (Candidate &candidate : group)
    names.push_back(candidate.getName());
  return cs336::getPackedName(names);
}

/// Returns the weight of `linear` if it is a parameter without other readers, or the reason why it is not.
static std::variant<Candidate, StringRef> matchCandidate(LinearOp linear, func::FuncOp function) {
  Value weight = linear.getWeight();
  auto cast = weight.getDefiningOp<CastOp>();
  if (cast && !cast->hasOneUse())
    return "its weight is cast for another use too";
  if (cast)
    weight = cast.getOperand();
  auto argument = dyn_cast<BlockArgument>(weight);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return "its weight is computed, not a parameter";
  DictionaryAttr port = function.getArgAttrDict(argument.getArgNumber());
  if (getPortKind(port) != port::kParameter || getPortName(port).empty())
    return "its weight is not a named parameter";
  if (getPortShards(port) != 1)
    return "its weight is a part of a sharded parameter";
  if (!argument.hasOneUse())
    return "its weight has another use";
  return Candidate{linear, cast, argument, port};
}

/// Collects groups of linears that share an input. Emits a remark for each linear that shares its input but is left
/// out.
static SmallVector<Group> collectGroups(func::FuncOp function) {
  llvm::MapVector<Value, SmallVector<LinearOp>> byInput;
  for (auto linear : function.getBody().front().getOps<LinearOp>())
    byInput[linear.getInput()].push_back(linear);
  if (llvm::none_of(byInput, [](auto &entry) { return entry.second.size() > 1; }))
    remarkMissed(function.getLoc(), "no two linears of @" + function.getName() + " have the same input");

  SmallVector<Group> groups;
  for (auto &[input, linears] : byInput) {
    if (linears.size() < 2)
      continue;
    // Weights are packed only if their types and layouts are equal; one `cs336.init` describes all rows.
    SmallVector<Group> alike;
    for (LinearOp linear : linears) {
      auto match = matchCandidate(linear, function);
      if (auto *reason = std::get_if<StringRef>(&match)) {
        remarkMissed(linear.getLoc(), "not merged with other linears of its input: " + *reason);
        continue;
      }
      auto &candidate = std::get<Candidate>(match);
      auto isAlike = [&](Group &group) {
        Candidate &first = group.front();
        return first.getStorageType().getElementType() == candidate.getStorageType().getElementType() &&
               first.getInit() == candidate.getInit() && first.linear.getPrecision() == linear.getPrecision();
      };
      auto *found = llvm::find_if(alike, isAlike);
      if (found == alike.end()) {
        if (!alike.empty())
          remarkMissed(linear.getLoc(), "not merged with '" + alike.front().front().getName() +
                                            "', which has the same input: initialised, stored or multiplied otherwise");
        alike.emplace_back().push_back(candidate);
      } else {
        found->push_back(candidate);
      }
    }
    for (Group &group : alike) {
      if (group.size() < 2)
        continue;
      llvm::sort(group, [](const Candidate &lhs, const Candidate &rhs) {
        return lhs.weight.getArgNumber() < rhs.weight.getArgNumber();
      });
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

/// Returns the packed names that different functions use for different weights.
static llvm::StringSet<> findAmbiguousNames(MutableArrayRef<FunctionGroups> functions) {
  llvm::StringMap<GroupKey> keys;
  llvm::StringSet<> ambiguous;
  for (FunctionGroups &entry : functions)
    for (Group &group : entry.groups)
      if (auto found = keys.try_emplace(getPackedName(group), getKey(group)).first; found->second != getKey(group))
        ambiguous.insert(found->first());
  return ambiguous;
}

/// Returns whether the group can be packed in the same way in all functions that read its weights, because functions
/// share parameters by name. Emits a remark if not.
bool MergeGemmsPass::canMergeEverywhere(Group &group, MutableArrayRef<FunctionGroups> functions,
                                        const llvm::StringSet<> &ambiguous) {
  GroupKey key = getKey(group);
  std::string name = getPackedName(group);
  Location loc = group.front().linear.getLoc();
  if (ambiguous.contains(name)) {
    remarkMissed(loc, "'" + Twine(name) + "' would be the name of other weights as well");
    return false;
  }
  for (FunctionGroups &other : functions) {
    if (other.parameters.contains(name)) {
      remarkMissed(loc, "'" + Twine(name) + "' exists already in @" + other.function.getName());
      return false;
    }
    bool takesAny = llvm::any_of(key, [&](auto &entry) { return other.parameters.contains(entry.first); });
    if (takesAny && other.keys.lookup(key.front().first) != key) {
      remarkMissed(loc, "weights of '" + Twine(name) + "' cannot be packed in the same way in @" +
                            other.function.getName() + ", which shares them");
      return false;
    }
  }
  return true;
}

/// Returns one location for several operations: the common part of their names, as for weights.
static Location mergeLocations(ArrayRef<Location> locations) {
  MLIRContext *context = locations.front().getContext();
  SmallVector<StringRef> names;
  SmallVector<Location> children;
  for (Location loc : locations) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return FusedLoc::get(context, locations);
    names.push_back(named.getName());
    children.push_back(named.getChildLoc());
  }
  return NameLoc::get(StringAttr::get(context, cs336::getPackedName(names)), FusedLoc::get(context, children));
}

static RankedTensorType getPackedType(Group &group) {
  int64_t rows = 0;
  for (Candidate &candidate : group)
    rows += candidate.getStorageType().getDimSize(0);
  RankedTensorType first = group.front().getStorageType();
  return first.clone({rows, first.getDimSize(1)});
}

static DictionaryAttr getPackedPort(Group &group) {
  MLIRContext *context = group.front().port.getContext();
  SmallVector<Attribute> views;
  for (Candidate &candidate : group) {
    if (ArrayAttr own = getPortViews(candidate.port))
      views.append(own.begin(), own.end());
    else
      views.push_back(ViewAttr::get(context, candidate.getName(), candidate.getStorageType().getDimSize(0)));
  }
  return makePort(context, port::kParameter, getPackedName(group), ArrayAttr::get(context, views),
                  group.front().getInit());
}

/// Replaces the linears with one linear, whose weight is `packed`, and slices of its result.
static void rewriteGroup(Group &group, Value packed) {
  SmallVector<Location> locations, castLocations;
  LinearOp first = group.front().linear;
  for (Candidate &candidate : group) {
    locations.push_back(candidate.linear.getLoc());
    if (candidate.cast)
      castLocations.push_back(candidate.cast.getLoc());
    if (candidate.linear->isBeforeInBlock(first))
      first = candidate.linear;
  }
  OpBuilder builder(first);
  Location loc = mergeLocations(locations);
  auto inputType = first.getInput().getType();
  auto weightType = cast<RankedTensorType>(packed.getType());
  if (inputType.getElementType() != weightType.getElementType())
    packed =
        CastOp::create(builder, mergeLocations(castLocations), weightType.clone(inputType.getElementType()), packed);

  SmallVector<int64_t> shape(inputType.getShape());
  shape.back() = weightType.getDimSize(0);
  Value merged = LinearOp::create(builder, loc, inputType.clone(shape), first.getInput(), packed, first.getPrecision());
  SmallVector<int64_t> offsets(shape.size(), 0);
  for (Candidate &candidate : group) {
    LinearOp linear = candidate.linear;
    auto slice = SliceOp::create(builder, linear.getLoc(), linear.getResult().getType(), merged, offsets);
    offsets.back() += candidate.getStorageType().getDimSize(0);
    linear.replaceAllUsesWith(slice.getResult());
  }
  for (Candidate &candidate : group) {
    candidate.linear.erase();
    if (candidate.cast)
      candidate.cast.erase();
  }
}

LogicalResult MergeGemmsPass::merge(FunctionGroups &functionGroups, const llvm::StringSet<> &refused) {
  func::FuncOp function = functionGroups.function;
  SmallVector<Group *> groups;
  for (Group &group : functionGroups.groups)
    if (!refused.contains(getPackedName(group)))
      groups.push_back(&group);
  llvm::sort(groups, [](Group *lhs, Group *rhs) {
    return lhs->front().weight.getArgNumber() < rhs->front().weight.getArgNumber();
  });

  SmallVector<unsigned> indices;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> ports;
  SmallVector<Location> locations;
  for (Group *group : groups) {
    SmallVector<Location> weightLocations;
    for (Candidate &candidate : *group)
      weightLocations.push_back(candidate.weight.getLoc());
    indices.push_back(group->front().weight.getArgNumber());
    types.push_back(getPackedType(*group));
    ports.push_back(getPackedPort(*group));
    locations.push_back(mergeLocations(weightLocations));
  }
  if (failed(function.insertArguments(indices, types, ports, locations)))
    return failure();

  // Each earlier insertion moved the arguments after it by one.
  SmallVector<BlockArgument> packed;
  for (auto [shift, index] : llvm::enumerate(indices))
    packed.push_back(function.getArgument(index + shift));
  llvm::BitVector isReplaced(function.getNumArguments());
  for (auto [group, weight] : llvm::zip_equal(groups, packed)) {
    for (Candidate &candidate : *group)
      isReplaced.set(candidate.weight.getArgNumber());
    remark::passed(group->front().linear.getLoc(), mergeGemmsRemarks("Merged"))
        << remark::add("{0} linears share '{1}'", group->size(), getPackedName(*group));
    rewriteGroup(*group, weight);
    numMerged += group->size();
    ++numPacked;
  }
  return function.eraseArguments(isReplaced);
}

void MergeGemmsPass::runOnOperation() {
  SmallVector<FunctionGroups> functions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    FunctionGroups &entry = functions.emplace_back();
    entry.function = function;
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (StringRef name = getPortName(function.getArgAttrDict(index)); !name.empty())
        entry.parameters.insert(name);
    // After differentiation, gradients and updates refer to the separate weights.
    bool isDifferentiated = hasResultOfKind(function, port::kGradient) || hasResultOfKind(function, port::kParameter);
    if (isDifferentiated)
      remarkMissed(function.getLoc(), "@" + function.getName() +
                                          " returns gradients or new values of its weights, under names that packing "
                                          "would take away: merge before differentiating");
    else
      entry.groups = collectGroups(function);
    for (Group &group : entry.groups)
      entry.keys[group.front().getName()] = getKey(group);
  }

  llvm::StringSet<> refused, ambiguous = findAmbiguousNames(functions);
  for (FunctionGroups &entry : functions)
    for (Group &group : entry.groups)
      if (!canMergeEverywhere(group, functions, ambiguous))
        refused.insert(getPackedName(group));
  for (FunctionGroups &entry : functions)
    if (failed(merge(entry, refused)))
      return signalPassFailure();
}
