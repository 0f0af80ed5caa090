//===- ScoreBuilder.cpp - Operations between scale and softmax ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBuilder.h"

#include <limits>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

ScoreBuilder::ScoreBuilder(ImplicitLocOpBuilder &builder, Value scores, Value state, int64_t firstQuery)
    : builder(builder), scores(scores), state(state), type(cast<RankedTensorType>(scores.getType())),
      firstQuery(firstQuery) {}

Value ScoreBuilder::getQueries() {
  Value query = getPositions(0);
  if (firstQuery == 0)
    return query;
  auto positions = cast<RankedTensorType>(query.getType());
  Value first = ConstantOp::create(builder, positions, static_cast<double>(firstQuery));
  return AddOp::create(builder, positions, query, first);
}

Value ScoreBuilder::getPositions(int64_t axis) {
  auto positions = RankedTensorType::get(type.getShape().take_back(2), builder.getI32Type());
  return IotaOp::create(builder, positions, builder.getI64IntegerAttr(axis));
}

Value ScoreBuilder::makeNumber(double number) { return ConstantOp::create(builder, type, number); }

Value ScoreBuilder::spread(Value value, ArrayRef<int64_t> axes) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return BroadcastOp::create(builder, type.clone(element), value, builder.getDenseI64ArrayAttr(axes));
}

Value ScoreBuilder::spreadPairs(Value value) { return spread(value, {type.getRank() - 2, type.getRank() - 1}); }

Value ScoreBuilder::spreadHeads(Value value) {
  if (type.getRank() == 4)
    return spread(value, 1);
  auto scalar = cast<RankedTensorType>(value.getType()).clone(ArrayRef<int64_t>());
  return spread(ReshapeOp::create(builder, scalar, value), {});
}

Value ScoreBuilder::spreadRows(Value value) {
  if (type.getRank() == 4) {
    RankedTensorType perHead = cast<RankedTensorType>(value.getType()).clone(type.getShape().take_back(3));
    return spread(TransposeOp::create(builder, perHead, value, ArrayRef<int64_t>{2, 0, 1}), {1, 2, 3});
  }
  auto pairs = cast<RankedTensorType>(value.getType()).clone(type.getShape().take_back(2));
  return spreadPairs(ReshapeOp::create(builder, pairs, value));
}

Value ScoreBuilder::spreadQueries(Value value) { return spread(value, {0, type.getRank() - 2}); }
Value ScoreBuilder::spreadKeys(Value value) { return spread(value, {0, type.getRank() - 1}); }

Value ScoreBuilder::buildCausal() {
  Value query = getQueries(), key = getKeys();
  return CompareOp::create(builder, Predicate::GE, query, key);
}

void ScoreBuilder::hide(Value visible) {
  if (cast<RankedTensorType>(visible.getType()).getRank() == 2)
    visible = spreadPairs(visible);
  Value hidden = makeNumber(-std::numeric_limits<double>::infinity());
  scores = SelectOp::create(builder, type, visible, scores, hidden);
}
