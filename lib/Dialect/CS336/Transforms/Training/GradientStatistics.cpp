//===- GradientStatistics.cpp - Numbers of all gradients together ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientStatistics.h"

#include "ShardParameters.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include <limits>

using namespace mlir;
using namespace cs336;

Value cs336::convertElements(ImplicitLocOpBuilder &b, Value value, Type elementType) {
  RankedTensorType type = tensorType(value);
  return type.getElementType() == elementType ? value : CastOp::create(b, type.clone(elementType), value).getResult();
}

static SmallVector<int64_t> allAxes(RankedTensorType type) {
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

/// Builds Σ(factor·g)².
static Value buildSumOfSquares(ImplicitLocOpBuilder &b, Value g, Value factor) {
  RankedTensorType type = tensorType(g);
  if (factor)
    g = MulOp::create(b, g, BroadcastOp::create(b, type, factor, ArrayRef<int64_t>()));
  return ReduceOp::create(b, RankedTensorType::get({}, type.getElementType()), ReduceKind::Sum, MulOp::create(b, g, g),
                          allAxes(type));
}

/// Builds a scalar of type `result` that is 0 if all elements are finite and 1 otherwise. Elements are compared one by
/// one, because a sum of finite numbers may overflow. They are compared in their own type, so that no conversion is
/// shared with the norm: each loop reads them from memory.
static Value buildOverflowFlag(ImplicitLocOpBuilder &b, Value g, Type result) {
  RankedTensorType type = tensorType(g), flagType = type.clone(result);
  Value magnitude = MaxOp::create(b, g, NegOp::create(b, g));
  Value infinity = ConstantOp::create(b, type, std::numeric_limits<double>::infinity());
  Value isFinite = CompareOp::create(b, Predicate::LT, magnitude, infinity);
  Value flags =
      SelectOp::create(b, isFinite, ConstantOp::create(b, flagType, 0.0), ConstantOp::create(b, flagType, 1.0));
  return ReduceOp::create(b, RankedTensorType::get({}, result), ReduceKind::Max, flags, allAxes(type));
}

/// Combines values pairwise in a tree: rounding grows with the depth of the tree.
template <typename OpT>
static Value combineInPairs(ImplicitLocOpBuilder &b, ValueRange operands) {
  SmallVector<Value> values(operands);
  for (; values.size() > 1; values.resize((values.size() + 1) / 2))
    for (size_t i = 0; 2 * i < values.size(); ++i)
      values[i] = 2 * i + 1 < values.size() ? OpT::create(b, values[2 * i], values[2 * i + 1]) : values[2 * i];
  return values.front();
}

/// Combines all values into one, in one kernel unless it would have too many parameters, so that a model's kernels do
/// not depend on its number of layers.
template <typename OpT>
static Value combine(ImplicitLocOpBuilder &b, SmallVector<Value> values) {
  constexpr size_t kMostInputs = 1024;
  while (values.size() > 1) {
    SmallVector<Value> combined;
    for (ArrayRef<Value> rest = values; !rest.empty();) {
      ArrayRef<Value> group = rest.take_front(kMostInputs);
      rest = rest.drop_front(group.size());
      if (group.size() == 1) {
        combined.push_back(group.front());
        continue;
      }
      auto fused = FusedOp::create(b, group.front().getType(), group);
      combined.push_back(fused.getResult(0));
      ImplicitLocOpBuilder::InsertionGuard guard(b);
      Block &body = fused.getBody().emplaceBlock();
      for (Value value : group)
        body.addArgument(value.getType(), value.getLoc());
      b.setInsertionPointToStart(&body);
      YieldOp::create(b, combineInPairs<OpT>(b, body.getArguments()));
    }
    values = std::move(combined);
  }
  return values.front();
}

/// Returns the rows of each rank if the gradient would be sharded over `ranks` ranks, otherwise the whole gradient.
static SmallVector<Value> splitLikeShards(ImplicitLocOpBuilder &b, const LocatedGradient &gradient, int64_t ranks) {
  RankedTensorType type = tensorType(gradient.value);
  if (ranks == 1 || gradient.shards != 1 || !isShardable(type, ranks))
    return {gradient.value};
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank());
  shape[0] /= ranks;
  SmallVector<Value> parts;
  for (; offsets[0] != type.getDimSize(0); offsets[0] += shape[0])
    parts.push_back(SliceOp::create(b, type.clone(shape), gradient.value, offsets));
  return parts;
}

namespace {
/// Statistics of several gradients: sums of squares, and flags that are 1 if an element is not finite. Either may be
/// absent.
struct Statistics {
  SmallVector<Value> sums, flags;
};

/// The scalars of all gradients together.
struct Totals {
  Value sum, flag;
};
} // namespace

static Totals combine(ImplicitLocOpBuilder &b, const Statistics &scalars) {
  Totals totals;
  if (!scalars.sums.empty())
    totals.sum = combine<AddOp>(b, scalars.sums);
  if (!scalars.flags.empty())
    totals.flag = combine<MaxOp>(b, scalars.flags);
  return totals;
}

/// Adds up the totals of the ranks, each of which has a part of the gradients. The sum of flags is not 0 if any flag is
/// 1.
static Totals addRanks(ImplicitLocOpBuilder &b, Totals own, int64_t ranks) {
  SmallVector<Value> values;
  for (Value value : {own.sum, own.flag})
    if (value)
      values.push_back(value);
  auto sum = CollectiveReductionAttr::get(b.getContext(), CollectiveReduction::Sum);
  auto collective = CollectiveOp::create(b, inPhase(Phase::Communication, b.getLoc()), ValueRange(values).getTypes(),
                                         CollectiveKind::AllReduce, sum, values, ranks, /*root=*/IntegerAttr());
  Totals totals;
  if (own.sum)
    totals.sum = collective.getResult(0);
  if (own.flag)
    totals.flag = collective.getResults().back();
  return totals;
}

/// Adds up the totals of all ranks as addRanks() does, in the order of ranks.
static Totals addInOrder(ImplicitLocOpBuilder &b, ArrayRef<Statistics> ranks) {
  Totals sum = combine(b, ranks.front());
  for (const Statistics &rank : ranks.drop_front()) {
    Totals totals = combine(b, rank);
    if (sum.sum)
      sum.sum = AddOp::create(b, sum.sum, totals.sum);
    if (sum.flag)
      sum.flag = AddOp::create(b, sum.flag, totals.flag);
  }
  return sum;
}

void GradientStatistics::build(ImplicitLocOpBuilder &b, ArrayRef<LocatedGradient> gradients, Location loc) {
  if (!wantsNorm && !wantsFinite)
    return;
  bool isF64 =
      llvm::any_of(gradients, [](const LocatedGradient &g) { return tensorType(g.value).getElementType().isF64(); });
  Type compute = isF64 ? Type(b.getF64Type()) : Type(b.getF32Type());
  auto scalar = RankedTensorType::get({}, compute);
  Statistics whole, sharded;
  // The statistics of replicated gradients, by the rank whose part they would be.
  SmallVector<Statistics> parts(ranks);
  int64_t shards = 1;
  auto measure = [&](Value value, Statistics &scalars) {
    SmallVector<Value> inputs = {value};
    if (wantsNorm && factor)
      inputs.push_back(factor);
    SmallVector<Type> types(wantsNorm + wantsFinite, scalar);
    auto fused = FusedOp::create(b, types, inputs);
    ImplicitLocOpBuilder::InsertionGuard guard(b);
    Block &body = fused.getBody().emplaceBlock();
    for (Value input : inputs)
      body.addArgument(input.getType(), input.getLoc());
    b.setInsertionPointToStart(&body);
    Value g = body.getArgument(0);
    SmallVector<Value> yielded;
    if (wantsNorm) {
      Value multiplier = factor ? convertElements(b, body.getArgument(1), compute) : Value();
      yielded.push_back(buildSumOfSquares(b, convertElements(b, g, compute), multiplier));
      scalars.sums.push_back(fused.getResult(0));
    }
    if (wantsFinite) {
      yielded.push_back(buildOverflowFlag(b, g, compute));
      scalars.flags.push_back(fused.getResults().back());
    }
    YieldOp::create(b, yielded);
  };
  // Builds the values of all gradients before it combines them, so that one launch can read several.
  for (const LocatedGradient &gradient : gradients) {
    b.setLoc(gradient.loc);
    shards = std::max(shards, gradient.shards);
    SmallVector<Value> split = splitLikeShards(b, gradient, ranks);
    if (split.size() == 1)
      measure(split.front(), gradient.shards == 1 ? whole : sharded);
    else
      for (auto [value, own] : llvm::zip_equal(split, parts))
        measure(value, own);
  }
  b.setLoc(loc);
  auto addToWhole = [&](Totals totals) {
    if (wantsNorm)
      whole.sums.push_back(totals.sum);
    if (wantsFinite)
      whole.flags.push_back(totals.flag);
  };
  if (shards != 1)
    addToWhole(addRanks(b, combine(b, sharded), shards));
  if (!parts.front().sums.empty() || !parts.front().flags.empty())
    addToWhole(addInOrder(b, parts));
  Totals totals = combine(b, whole);
  if (wantsNorm)
    norm = SqrtOp::create(b, totals.sum);
  if (wantsFinite)
    isFinite = CompareOp::create(b, Predicate::EQ, totals.flag, ConstantOp::create(b, scalar, 0.0));
}
