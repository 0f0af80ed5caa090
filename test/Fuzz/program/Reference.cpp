//===- Reference.cpp - NumPy's semantics of the dialect -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "Evaluator.h"

#include <algorithm>

namespace cs336::fuzz {

Number Evaluator::gelu(const Number &x) const {
  Number half = scaled(0.5, math.add(exact(1), math.erf(scaled(M_SQRT1_2, x))));
  return math.mul(x, half);
}

Number Evaluator::geluTanh(const Number &x) const {
  Number cube = math.mul(x, math.mul(x, x));
  Number inner = scaled(std::sqrt(2 / M_PI), math.add(x, scaled(0.044715, cube)));
  return math.mul(x, scaled(0.5, math.add(exact(1), math.tanh(inner))));
}

Number Evaluator::compare(const Number &x, const Number &y) const {
  // The distance of equal infinities is 0.
  bool isClose = x.value == y.value ? x.error + y.error > 0 : std::abs(x.value - y.value) <= x.error + y.error;
  if (!x.isKnown() || !y.isKnown() || isClose)
    return unknown();
  switch (node.integers[0]) {
  case kEQ:
    return exact(x.value == y.value);
  case kNE:
    return exact(x.value != y.value);
  case kLT:
    return exact(x.value < y.value);
  case kLE:
    return exact(x.value <= y.value);
  case kGT:
    return exact(x.value > y.value);
  default:
    return exact(x.value >= y.value);
  }
}

Number Evaluator::connect(const Number &x, const Number &y, double deciding) const {
  auto decides = [&](const Number &number) { return number.isKnown() && number.value == deciding; };
  if (decides(x) || decides(y))
    return exact(deciding);
  return x.isKnown() && y.isKnown() ? exact(1 - deciding) : unknown();
}

Number Evaluator::select(const Number &predicate, const Number &x, const Number &y) const {
  return predicate.isKnown() ? (predicate.value != 0 ? x : y) : unknown();
}

Number Evaluator::cast(const Number &x) const {
  DType from = operands[0].type.dtype, to = node.type.dtype;
  if (!x.isKnown() || !std::isfinite(x.value))
    return std::isinf(x.value) && runtime::IsFloat(to) ? x : unknown(x);
  if (to == DType::kI1)
    return std::abs(x.value) > x.error || x.error == 0 ? exact(x.value != 0) : unknown();
  if (!runtime::IsFloat(to)) {
    bool isClear = std::trunc(x.value - x.error) == std::trunc(x.value + x.error);
    return isClear ? math.rounded(exact(std::trunc(x.value)), /*isExact=*/true) : unknown();
  }
  Number result = runtime::IsFloat(from) ? x : stopped(x);
  // Compilers round an exact value to the same number, unless autocast changes the cast.
  if (x.error == 0 && graph.compute == ComputeType::kFP32)
    result.value = roundTo(x.value, to);
  return math.rounded(result, x.error == 0);
}

void Evaluator::broadcast() {
  fill([&](const Dims &at) {
    Dims from;
    for (int64_t dim : node.integers)
      from.push_back(at[dim]);
    return operands[0].at(from);
  });
}

void Evaluator::transpose() {
  fill([&](const Dims &at) {
    Dims from(at.size());
    for (size_t axis = 0; axis != at.size(); ++axis)
      from[node.integers[axis]] = at[axis];
    return operands[0].at(from);
  });
}

void Evaluator::slice() {
  fill([&](Dims at) {
    for (size_t axis = 0; axis != at.size(); ++axis)
      at[axis] += node.integers[axis];
    return operands[0].at(at);
  });
}

void Evaluator::pad() {
  fill([&](Dims at) {
    for (size_t axis = 0; axis != at.size(); ++axis) {
      at[axis] -= node.integers[axis];
      if (at[axis] < 0 || at[axis] >= operands[0].shape()[axis])
        return exact(0);
    }
    return operands[0].at(at);
  });
}

void Evaluator::concat() {
  int64_t axis = node.integers[0];
  fill([&](Dims at) {
    size_t part = 0;
    for (; at[axis] >= operands[part].shape()[axis]; ++part)
      at[axis] -= operands[part].shape()[axis];
    return operands[part].at(at);
  });
}

void Evaluator::run() {
  bool isSource = node.op == Op::kParameter || node.op == Op::kInput || node.op == Op::kConstant;
  if (!isSource)
    node.values.clear();
  switch (node.op) {
  case Op::kParameter:
  case Op::kInput:
  case Op::kConstant:
    return;
  case Op::kIota:
    return fill([&](const Dims &at) { return math.rounded(exact(at[node.integers[0]]), /*isExact=*/true); });
  case Op::kNeg:
    return fillPointwise([&](const Number &x) { return math.neg(x); });
  case Op::kExp:
    return fillPointwise([&](const Number &x) { return math.exp(x); });
  case Op::kLog:
    return fillPointwise([&](const Number &x) { return math.log(x); });
  case Op::kRsqrt:
    return fillPointwise([&](const Number &x) { return math.rsqrt(x); });
  case Op::kSqrt:
    return fillPointwise([&](const Number &x) { return math.sqrt(x); });
  case Op::kSin:
    return fillPointwise([&](const Number &x) { return math.sin(x); });
  case Op::kCos:
    return fillPointwise([&](const Number &x) { return math.cos(x); });
  case Op::kTanh:
    return fillPointwise([&](const Number &x) { return math.tanh(x); });
  case Op::kErf:
    return fillPointwise([&](const Number &x) { return math.erf(x); });
  case Op::kSigmoid:
    return fillPointwise([&](const Number &x) { return math.sigmoid(x); });
  case Op::kSilu:
    return fillPointwise([&](const Number &x) { return math.mul(x, math.sigmoid(x)); });
  case Op::kRelu:
    return fillPointwise([&](const Number &x) { return math.relu(x); });
  case Op::kGelu:
    return fillPointwise([&](const Number &x) { return gelu(x); });
  case Op::kGeluTanh:
    return fillPointwise([&](const Number &x) { return geluTanh(x); });
  case Op::kAdd:
    return fillBinary([&](const Number &x, const Number &y) { return math.add(x, y); });
  case Op::kSub:
    return fillBinary([&](const Number &x, const Number &y) { return math.sub(x, y); });
  case Op::kMul:
    return fillBinary([&](const Number &x, const Number &y) { return math.mul(x, y); });
  case Op::kDiv:
    return fillBinary([&](const Number &x, const Number &y) { return math.div(x, y); });
  case Op::kMax:
    return fillBinary([&](const Number &x, const Number &y) { return math.max(x, y); });
  case Op::kMin:
    return fillBinary([&](const Number &x, const Number &y) { return math.neg(math.max(math.neg(x), math.neg(y))); });
  case Op::kPow:
    return fillBinary([&](const Number &x, const Number &y) { return math.pow(x, y); });
  case Op::kCompare:
    return fillBinary([&](const Number &x, const Number &y) { return compare(x, y); });
  case Op::kAnd:
    return fillBinary([&](const Number &x, const Number &y) { return connect(x, y, 0); });
  case Op::kOr:
    return fillBinary([&](const Number &x, const Number &y) { return connect(x, y, 1); });
  case Op::kNot:
    return fillPointwise([&](const Number &x) { return x.isKnown() ? exact(x.value == 0) : unknown(); });
  case Op::kSelect:
    return fill([&](const Dims &at) { return select(operands[0].at(at), operands[1].at(at), operands[2].at(at)); });
  case Op::kCast:
    return fillPointwise([&](const Number &x) { return cast(x); });
  case Op::kBroadcast:
    return broadcast();
  case Op::kReshape:
    node.values = operands[0].values;
    return;
  case Op::kTranspose:
    return transpose();
  case Op::kSlice:
    return slice();
  case Op::kPad:
    return pad();
  case Op::kConcat:
    return concat();
  case Op::kReduceSum:
  case Op::kReduceMax:
    return reduce();
  case Op::kMatmul:
    return matmul();
  case Op::kLinear:
    return linear();
  case Op::kEmbedding:
    return embedding();
  case Op::kSoftmax:
    return softmax();
  case Op::kAttention:
    return attention();
  case Op::kRmsNorm:
  case Op::kLayerNorm:
    return norm();
  case Op::kRope:
    return rope();
  case Op::kCrossEntropy:
    return crossEntropy();
  }
}

void evaluate(Graph &graph, int node) { Evaluator(graph, graph.nodes[node]).run(); }

namespace {

/// Returns true for the nodes that the loss depends on.
std::vector<bool> findLossOperands(const Graph &graph) {
  std::vector<bool> reachesLoss(graph.nodes.size());
  reachesLoss[graph.outputs.back().node] = true;
  for (size_t i = graph.nodes.size(); i-- != 0;)
    if (reachesLoss[i])
      for (int operand : graph.nodes[i].operands)
        reachesLoss[operand] = true;
  return reachesLoss;
}

/// Returns true if reverse differentiation multiplies by an infinity or NaN at `x`. This spoils gradients even where
/// the adjoint is zero: log(x)[1] has the gradient 0 · ∞ = NaN with respect to x[0] = 0.
bool isSingular(const Number &x) { return x.paths != 0 && !(std::isfinite(x.value) && std::isfinite(x.slope)); }

} // namespace

Number differentiate(Graph graph, int parameter, absl::Span<const double> direction) {
  std::vector<Number> &values = graph.nodes[parameter].values;
  for (size_t i = 0; i != values.size(); ++i) {
    values[i].slope = direction[i];
    values[i].paths = std::abs(direction[i]);
  }
  const std::vector<bool> reachesLoss = findLossOperands(graph);
  std::vector<bool> moves(graph.nodes.size());
  moves[parameter] = true;
  bool isDifferentiable = true;
  for (int i = parameter + 1, end = static_cast<int>(graph.nodes.size()); i != end; ++i) {
    const std::vector<int> &operands = graph.nodes[i].operands;
    moves[i] = std::any_of(operands.begin(), operands.end(), [&](int operand) { return moves[operand]; });
    if (!moves[i])
      continue;
    evaluate(graph, i);
    const std::vector<Number> &results = graph.nodes[i].values;
    isDifferentiable &= !reachesLoss[i] || std::none_of(results.begin(), results.end(), isSingular);
  }
  const Number &loss = graph.nodes[graph.outputs.back().node].values[0];
  return isDifferentiable ? loss : unknown(loss);
}

} // namespace cs336::fuzz
