//===- PartExchange.cpp - Sums of gradients by their readers --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartExchange.h"

#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

/// Adds `ranks` parts [rows/ranks, …], which follow each other in `parts` [rows, …], in float32.
static Value addParts(OpBuilder &builder, Location loc, Value parts, int64_t ranks) {
  RankedTensorType all = tensorType(parts);
  SmallVector<int64_t> shape(all.getShape()), offsets(all.getRank());
  shape.front() /= ranks;
  RankedTensorType part = all.clone(shape), exact = part.clone(builder.getF32Type());
  Value sum;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    offsets.front() = rank * shape.front();
    Value each = SliceOp::create(builder, loc, part, parts, offsets);
    if (part != exact)
      each = CastOp::create(builder, loc, exact, each);
    sum = sum ? AddOp::create(builder, loc, sum, each).getResult() : each;
  }
  return sum;
}

/// Returns a gradient as [ranks, rows/ranks, …].
static Value splitRows(OpBuilder &builder, Location loc, Value gradient, int64_t ranks) {
  RankedTensorType type = tensorType(gradient);
  SmallVector<int64_t> shape(type.getShape());
  shape.front() /= ranks;
  shape.insert(shape.begin(), ranks);
  return ReshapeOp::create(builder, loc, type.clone(shape), gradient);
}

static RankedTensorType getGatheredType(Value gradient, int64_t ranks) {
  SmallVector<int64_t> shape(tensorType(gradient).getShape());
  shape.front() *= ranks;
  return tensorType(gradient).clone(shape);
}

PartSums cs336::exchangeParts(OpBuilder &builder, StringRef name, ArrayRef<Value> gradients, int64_t ranks,
                              PartsOf partsOf) {
  Location loc = inPhase(Phase::Communication, NameLoc::get(builder.getStringAttr(name)));
  bool gathers = partsOf == PartsOf::AllRows;
  SmallVector<Value> sources;
  SmallVector<Type> targets;
  for (Value gradient : gradients) {
    sources.push_back(gathers ? gradient : splitRows(builder, loc, gradient, ranks));
    targets.push_back(gathers ? getGatheredType(gradient, ranks) : sources.back().getType());
  }
  auto collective =
      CollectiveOp::create(builder, loc, targets, gathers ? CollectiveKind::AllGather : CollectiveKind::AllToAll,
                           CollectiveReductionAttr(), sources, ranks, /*root=*/IntegerAttr());
  SmallVector<Value> sums;
  for (auto [gradient, parts] : llvm::zip_equal(gradients, collective.getResults())) {
    // The sum is a part of the update.
    Location itsLoc = inPhase(Phase::Optimizer, gradient.getLoc());
    Value all = parts;
    if (!gathers)
      all = ReshapeOp::create(builder, itsLoc, tensorType(gradient), parts);
    sums.push_back(addParts(builder, itsLoc, all, ranks));
  }
  return {std::move(sums), collective};
}
