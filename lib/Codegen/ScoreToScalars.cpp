//===- ScoreToScalars.cpp - Score functions as scalar code ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Codegen/ScoreToScalars.h"

#include "ExactIntegers.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>

using namespace mlir;
using namespace cs336;

/// Removes operations that compute the same, are dead, or have known results.
static LogicalResult simplify(func::FuncOp scalars) {
  IRRewriter rewriter(scalars.getContext());
  DominanceInfo dominance(scalars);
  eliminateCommonSubExpressions(rewriter, dominance, scalars);
  return applyPatternsGreedily(scalars, RewritePatternSet(scalars.getContext()));
}

/// Returns the numbers of batches, heads, queries and keys of an attention or its gradient.
static std::array<int64_t, 4> getBounds(Operation *attention) {
  return llvm::TypeSwitch<Operation *, std::array<int64_t, 4>>(attention).Case<AttentionOp, AttentionBackwardOp>(
      [](auto op) -> std::array<int64_t, 4> {
        auto sizes = op.getSizes();
        return {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
      });
}

FailureOr<func::FuncOp> cs336::lowerScoreToScalars(Block &function, unsigned numResults, OpBuilder &builder,
                                                   const DenseMap<Operation *, bool> &known) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = function.getParentOp()->getLoc();
  SmallVector<Type> inputs, results;
  for (BlockArgument argument : function.getArguments()) {
    bool isTable = argument.getArgNumber() >= score::kFirstTable;
    inputs.push_back(isTable ? argument.getType() : getElementTypeOrSelf(argument.getType()));
  }
  for (Value value : function.getTerminator()->getOperands().take_front(numResults))
    results.push_back(getElementTypeOrSelf(value.getType()));
  auto scalars = func::FuncOp::create(builder, loc, "score", builder.getFunctionType(inputs, results));
  Block *entry = scalars.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto readElement = [&](OpBuilder &b, Location at, unsigned table, ValueRange indices) -> Value {
    auto places = llvm::map_to_vector(
        indices, [&](Value each) -> Value { return arith::IndexCastOp::create(b, at, b.getIndexType(), each); });
    return tensor::ExtractOp::create(b, at, entry->getArgument(score::kFirstTable + table), places);
  };
  SmallVector<Value> values = buildScoreScalars(
      builder, loc, function, ValueRange(entry->getArguments()).take_front(score::kFirstTable), readElement, known);
  func::ReturnOp::create(builder, loc, ValueRange(values).take_front(numResults));

  // Folds operations whose results follow from the known comparisons.
  if (failed(simplify(scalars)))
    return failure();
  std::array<int64_t, 4> bounds = getBounds(function.getParentOp());
  auto getArgumentRange = [&](BlockArgument argument) { return getScoreArgumentRange(argument, bounds); };
  IntegerRanges ranges(getArgumentRange);
  markExactIntegers(scalars.getBody().front(), ranges);
  return scalars;
}

LogicalResult cs336::assumeConditions(func::FuncOp scalars, ArrayRef<std::pair<Value, bool>> conditions) {
  OpBuilder builder = OpBuilder::atBlockBegin(&scalars.getBody().front());
  for (auto [condition, holds] : conditions) {
    Value result = arith::ConstantOp::create(builder, scalars.getLoc(), builder.getBoolAttr(holds));
    Value(condition).replaceAllUsesWith(result);
  }
  return simplify(scalars);
}
