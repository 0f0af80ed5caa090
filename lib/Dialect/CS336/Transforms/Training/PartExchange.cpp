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

std::pair<SmallVector<Value>, CollectiveOp> cs336::exchangeParts(OpBuilder &builder, StringRef name,
                                                                 ArrayRef<Value> gradients, int64_t ranks) {
  Location loc = inPhase(Phase::Communication, NameLoc::get(builder.getStringAttr(name)));
  auto split = llvm::map_to_vector(gradients, [&](Value gradient) -> Value {
    RankedTensorType type = tensorType(gradient);
    SmallVector<int64_t> shape(type.getShape());
    shape.front() /= ranks;
    shape.insert(shape.begin(), ranks);
    return ReshapeOp::create(builder, loc, type.clone(shape), gradient);
  });
  auto collective = CollectiveOp::create(builder, loc, llvm::to_vector(ValueRange(split).getTypes()),
                                         CollectiveKind::AllToAll, CollectiveReductionAttr(), split, ranks,
                                         /*root=*/IntegerAttr());
  SmallVector<Value> sums;
  for (auto [gradient, parts] : llvm::zip_equal(gradients, collective.getResults())) {
    // The sum is a part of the update.
    Location itsLoc = inPhase(Phase::Optimizer, gradient.getLoc());
    Value all = ReshapeOp::create(builder, itsLoc, tensorType(gradient), parts);
    sums.push_back(addParts(builder, itsLoc, all, ranks));
  }
  return {std::move(sums), collective};
}
