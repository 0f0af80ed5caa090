//===- AttentionProgram.cpp - Attention alone, as programs ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionProgram.h"

#include "ScoreBuilder.h"
#include "cs336/Bench/Program/FunctionBuilder.h"

#include <cmath>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

double AttentionCase::getForwardFlops() const {
  double pairs = static_cast<double>(batchSize * numHeads) * score.form->countPairs(*this);
  return (part == Part::Whole ? 4 : 2) * pairs * static_cast<double>(headDim);
}

namespace {
/// Builds one function of an attention.
class AttentionBuilder {
public:
  AttentionBuilder(const AttentionCase &attention, Mode mode, ModuleOp module);

  void build();

private:
  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }
  RankedTensorType tensor(ArrayRef<int64_t> shape) { return tensor(shape, element); }
  DenseI64ArrayAttr makeAxes(int64_t first, int64_t end);
  Value transpose(StringRef source, RankedTensorType type, Value x);
  Value splitHeads(Value x);
  Value addScoreState();
  Value buildScore(Value scaled, Value state);
  Value buildSoftmax(Value x);
  Value buildOutput(ArrayRef<Value> variables, Value state);

  const AttentionCase &attention;
  Mode mode;
  FunctionBuilder function;
  ImplicitLocOpBuilder &builder;
  bool hasHeads, hasValues;
  Type element;
  using Shape = SmallVector<int64_t>;
  /// Types of q and of k and v in memory, of scores, of values per row of scores, and of o.
  Shape queries, keys, scores, rows, result;
};
} // namespace

AttentionBuilder::AttentionBuilder(const AttentionCase &attention, Mode mode, ModuleOp module)
    : attention(attention), mode(mode), function(module, mode), builder(function.getBuilder()),
      hasHeads(attention.numHeads > 1), hasValues(attention.part == AttentionCase::Part::Whole) {
  switch (attention.computeType) {
  case ComputeType::BF16:
    element = builder.getBF16Type();
    break;
  case ComputeType::FP16:
    element = builder.getF16Type();
    break;
  case ComputeType::FP32:
  case ComputeType::TF32:
    element = builder.getF32Type();
    break;
  }
  auto getStored = [&](int64_t positions) -> Shape {
    if (hasHeads)
      return {attention.batchSize, positions, attention.numHeads, attention.headDim};
    return {attention.batchSize, positions, attention.headDim};
  };
  queries = getStored(attention.getQueries());
  keys = getStored(attention.length);
  rows = hasHeads ? Shape{attention.batchSize, attention.numHeads, attention.getQueries()}
                  : Shape{attention.batchSize, attention.getQueries()};
  scores = rows;
  scores.push_back(attention.length);
  result = hasValues ? queries : scores;
}

DenseI64ArrayAttr AttentionBuilder::makeAxes(int64_t first, int64_t end) {
  return builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq(first, end)));
}

Value AttentionBuilder::transpose(StringRef source, RankedTensorType type, Value x) {
  function.at(source);
  return TransposeOp::create(builder, type, x, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

Value AttentionBuilder::splitHeads(Value x) {
  if (!hasHeads)
    return x;
  auto type = cast<RankedTensorType>(x.getType());
  Shape heads{type.getDimSize(0), type.getDimSize(2), type.getDimSize(1), type.getDimSize(3)};
  return transpose("attn.split_heads", type.clone(heads), x);
}

/// Returns null if the score function reads no state.
Value AttentionBuilder::addScoreState() {
  std::optional<ScoreState> state = attention.score.form->getState(attention);
  if (!state)
    return {};
  Type type = state->isInteger ? Type(builder.getI32Type()) : element;
  return function.addState(state->name, tensor(state->shape, type));
}

/// Applies the score function, then the masks.
Value AttentionBuilder::buildScore(Value scaled, Value state) {
  ScoreBuilder building(builder, scaled, state, attention.length - attention.getQueries());
  function.at("attn.score_function");
  attention.score.form->change(building, attention.score.number);
  function.at("attn.mask");
  Value visible = attention.score.form->buildMask(building, attention.score.number);
  if (attention.isCausal) {
    Value causal = building.buildCausal();
    visible = visible ? AndOp::create(builder, causal.getType(), causal, visible).getResult() : causal;
  }
  if (visible)
    building.hide(visible);
  return building.getScores();
}

Value AttentionBuilder::buildSoftmax(Value x) {
  function.at("attn.softmax");
  RankedTensorType type = tensor(scores), row = tensor(rows);
  int64_t rank = type.getRank();
  auto last = makeAxes(rank - 1, rank), others = makeAxes(0, rank - 1);
  Value max = ReduceOp::create(builder, row, ReduceKind::Max, x, last, /*stop_gradient=*/true);
  max = BroadcastOp::create(builder, type, max, others);
  Value exponentials = ExpOp::create(builder, type, SubOp::create(builder, type, x, max));
  Value sum = ReduceOp::create(builder, row, ReduceKind::Sum, exponentials, last);
  sum = BroadcastOp::create(builder, type, sum, others);
  return DivOp::create(builder, type, exponentials, sum);
}

/// Returns o, or the probabilities if the program computes scores only.
Value AttentionBuilder::buildOutput(ArrayRef<Value> variables, Value state) {
  Value q = splitHeads(variables[0]), k = splitHeads(variables[1]);
  function.at("attn.scores");
  Value x = MatmulOp::create(builder, q, k, /*transposeA=*/false, /*transposeB=*/true);
  function.at("attn.scale");
  Value scale = ConstantOp::create(builder, tensor(scores), 1 / std::sqrt(static_cast<double>(attention.headDim)));
  x = MulOp::create(builder, tensor(scores), x, scale);
  x = buildSoftmax(buildScore(x, state));
  if (!hasValues)
    return x;
  Value v = splitHeads(variables[2]);
  function.at("attn.values");
  x = MatmulOp::create(builder, x, v, /*transposeA=*/false, /*transposeB=*/false);
  return hasHeads ? transpose("attn.merge_heads", tensor(queries), x) : x;
}

void AttentionBuilder::build() {
  bool hasLoss = mode != Mode::Forward;
  SmallVector<Value> variables;
  static constexpr llvm::StringLiteral kNames[] = {"q", "k", "v"};
  for (StringRef name : ArrayRef(kNames).take_front(hasValues ? 3 : 2))
    variables.push_back(function.addVariable(name, "parameter", tensor(name == "q" ? queries : keys)));
  Value weights;
  if (hasLoss)
    weights = function.addVariable("weights", "state", tensor(result));

  Value o = buildOutput(variables, addScoreState());
  if (!hasLoss)
    return function.finish({{"o", o}});
  function.at("attn.loss");
  Value weighted = MulOp::create(builder, tensor(result), o, weights);
  auto axes = makeAxes(0, static_cast<int64_t>(result.size()));
  Value loss = ReduceOp::create(builder, tensor({}), ReduceKind::Sum, weighted, axes);
  function.finish({{"loss", loss}});
}

void cs336::bench::buildAttentionForward(const AttentionCase &attention, ModuleOp module) {
  AttentionBuilder(attention, Mode::Forward, module).build();
}

void cs336::bench::buildAttentionBackward(const AttentionCase &attention, ModuleOp module) {
  for (Mode mode : {Mode::Loss, Mode::ForwardBackward})
    AttentionBuilder(attention, mode, module).build();
}
