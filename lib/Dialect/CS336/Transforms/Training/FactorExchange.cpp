//===- FactorExchange.cpp - Gradients from all ranks' operands ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorExchange.h"

#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

bool cs336::hasFactors(Value gradient) {
  auto matmul = gradient.getDefiningOp<MatmulOp>();
  return matmul && matmul->hasOneUse() && matmul.getTransposeA() && !matmul.getTransposeB() && !matmul.hasEpilogue() &&
         tensorType(matmul.getLhs()).getRank() == 2 && tensorType(matmul.getRhs()).getRank() == 2 &&
         matmul.getType().getElementType().isBF16();
}

static int64_t getSentColumns(Value factor, int64_t ranks) {
  return getRingBytes(CollectiveKind::AllToAll, ranks, getTensorBytes(factor));
}
static int64_t getSentGathered(Value factor, int64_t ranks) {
  return getRingBytes(CollectiveKind::AllGather, ranks, ranks * getTensorBytes(factor));
}

double cs336::getFactorRatio(MatmulOp gradient, int64_t ranks) {
  int64_t bytes = getRingBytes(CollectiveKind::ReduceScatter, ranks, getTensorBytes(gradient.getResult()));
  int64_t factors = getSentColumns(gradient.getLhs(), ranks) + getSentGathered(gradient.getRhs(), ranks);
  return static_cast<double>(factors) / static_cast<double>(bytes);
}

/// Returns columns of a factor as [ranks, tokens, columns of a rank].
static Value splitColumns(OpBuilder &builder, Location loc, Value factor, int64_t ranks) {
  RankedTensorType type = tensorType(factor);
  int64_t tokens = type.getDimSize(0), width = type.getDimSize(1) / ranks;
  Value split = ReshapeOp::create(builder, loc, type.clone({tokens, ranks, width}), factor);
  return TransposeOp::create(builder, loc, type.clone({ranks, tokens, width}), split,
                             builder.getDenseI64ArrayAttr({1, 0, 2}));
}

Operation *FactorExchange::exchange(ArrayRef<MatmulOp> bucket) {
  llvm::SetVector<Value> lefts, rights;
  for (MatmulOp gradient : bucket) {
    if (!columns.contains(gradient.getLhs()))
      lefts.insert(gradient.getLhs());
    if (!gathered.contains(gradient.getRhs()))
      rights.insert(gradient.getRhs());
  }
  MatmulOp last = bucket.back();
  OpBuilder builder(last.getContext());
  builder.setInsertionPointAfter(last);
  std::string name = "factors" + std::to_string(numBuckets++);
  Location loc = inPhase(Phase::Communication, NameLoc::get(builder.getStringAttr(name)));
  auto collect = [&](CollectiveKind kind, ArrayRef<Value> operands, ArrayRef<Type> types) {
    ++numCollectives;
    return CollectiveOp::create(builder, loc, types, kind, CollectiveReductionAttr(), operands, ranks, IntegerAttr())
        .getResults();
  };
  if (!lefts.empty()) {
    SmallVector<Value> split =
        llvm::map_to_vector(lefts, [&](Value factor) { return splitColumns(builder, loc, factor, ranks); });
    ResultRange exchanged = collect(CollectiveKind::AllToAll, split, llvm::to_vector(ValueRange(split).getTypes()));
    for (auto [factor, parts] : llvm::zip_equal(lefts, exchanged)) {
      RankedTensorType type = tensorType(factor);
      columns[factor] =
          ReshapeOp::create(builder, loc, type.clone({ranks * type.getDimSize(0), type.getDimSize(1) / ranks}), parts);
      sentBytes += getSentColumns(factor, ranks);
    }
  }
  if (!rights.empty()) {
    SmallVector<Type> types = llvm::map_to_vector(rights, [&](Value factor) -> Type {
      RankedTensorType type = tensorType(factor);
      return type.clone({ranks * type.getDimSize(0), type.getDimSize(1)});
    });
    for (auto [factor, all] :
         llvm::zip_equal(rights, collect(CollectiveKind::AllGather, rights.getArrayRef(), types))) {
      gathered[factor] = all;
      sentBytes += getSentGathered(factor, ranks);
    }
  }
  return &*std::prev(builder.getInsertionPoint());
}

SmallVector<Value> FactorExchange::build(ArrayRef<MatmulOp> gradients) {
  SmallVector<ArrayRef<MatmulOp>> buckets;
  while (!gradients.empty()) {
    double bytes = 0;
    size_t count = 0;
    while (count < gradients.size() && (count == 0 || bytes < bucketBytes)) {
      MatmulOp gradient = gradients[count++];
      bytes += getSentColumns(gradient.getLhs(), ranks) + getSentGathered(gradient.getRhs(), ranks);
    }
    buckets.push_back(gradients.take_front(count));
    gradients = gradients.drop_front(count);
  }
  SmallVector<Operation *> ends =
      llvm::map_to_vector(buckets, [&](ArrayRef<MatmulOp> bucket) { return exchange(bucket); });
  lastExchange = ends.back();
  SmallVector<Value> sums;
  for (auto [number, bucket] : llvm::enumerate(buckets)) {
    OpBuilder builder(ends[number]->getBlock()->getTerminator());
    if (number + lead < buckets.size())
      builder.setInsertionPointAfter(ends[number + lead]);
    for (MatmulOp gradient : bucket)
      sums.push_back(MatmulOp::create(builder, gradient.getLoc(), columns.lookup(gradient.getLhs()),
                                      gathered.lookup(gradient.getRhs()), /*transposeA=*/true, /*transposeB=*/false,
                                      gradient.getPrecision()));
  }
  return sums;
}

SmallVector<Value> FactorExchange::gatherBucket(OpBuilder &builder, StringRef name, ArrayRef<Value> sums) {
  Location loc = inPhase(Phase::Communication, NameLoc::get(builder.getStringAttr(name)));
  auto types = llvm::map_to_vector(sums, [&](Value part) -> Type {
    RankedTensorType type = tensorType(part);
    sentBytes += getSentGathered(part, ranks);
    return type.clone({ranks * type.getDimSize(0), type.getDimSize(1)});
  });
  ++numCollectives;
  return llvm::to_vector_of<Value>(CollectiveOp::create(builder, loc, types, CollectiveKind::AllGather,
                                                        CollectiveReductionAttr(), sums, ranks, IntegerAttr())
                                       .getResults());
}

SmallVector<Value> FactorExchange::gather(ArrayRef<Value> sums, double gatherBytes, Operation *after) {
  if (!after || after->isBeforeInBlock(lastExchange))
    after = lastExchange;
  SmallVector<Value> gathered;
  for (size_t number = 0; !sums.empty(); ++number) {
    double bytes = 0;
    size_t count = 0;
    while (count < sums.size() && (count == 0 || bytes < gatherBytes))
      bytes += static_cast<double>(ranks * getTensorBytes(sums[count++]));
    if (Operation *last = sums[count - 1].getDefiningOp(); after->isBeforeInBlock(last))
      after = last;
    OpBuilder builder(after->getContext());
    builder.setInsertionPointAfter(after);
    llvm::append_range(gathered, gatherBucket(builder, "sums" + std::to_string(number), sums.take_front(count)));
    after = gathered.back().getDefiningOp();
    sums = sums.drop_front(count);
  }
  return gathered;
}
