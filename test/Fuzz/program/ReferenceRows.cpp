//===- ReferenceRows.cpp - Reductions, matmuls, row functions -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

#include <algorithm>

namespace cs336::fuzz {

void Evaluator::reduce() {
  std::vector<std::vector<Number>> rows(elementsOf(node.type.shape));
  const Dims &shape = operands[0].shape();
  for (int64_t i = 0, end = elementsOf(shape); i != end; ++i) {
    Dims at = unravel(i, shape), kept;
    for (size_t axis = 0; axis != shape.size(); ++axis)
      if (!std::count(node.integers.begin(), node.integers.end(), axis))
        kept.push_back(at[axis]);
    rows[ravel(kept, node.type.shape)].push_back(operands[0].values[i]);
  }
  for (const std::vector<Number> &row : rows) {
    Number value = node.op == Op::kReduceSum ? math.sum(row) : math.max(row);
    bool isStopped = node.flags & kStopGradient && value.isKnown();
    node.values.push_back(isStopped ? stopped(value) : value);
  }
}

void Evaluator::matmul() {
  size_t rank = operands[0].shape().size();
  bool transposeA = node.flags & kTransposeA, transposeB = node.flags & kTransposeB;
  int64_t depth = operands[0].shape()[transposeA ? rank - 2 : rank - 1];
  fill([&](const Dims &at) {
    Dims a = at, b = at;
    if (operands[1].shape().size() == 2)
      b.erase(b.begin(), b.end() - 2);
    int64_t m = at[rank - 2], n = at[rank - 1];
    std::vector<Number> terms;
    for (int64_t k = 0; k != depth; ++k) {
      a[rank - 2] = transposeA ? k : m;
      a[rank - 1] = transposeA ? m : k;
      b[b.size() - 2] = transposeB ? n : k;
      b[b.size() - 1] = transposeB ? k : n;
      terms.push_back(math.mul(operands[0].at(a), operands[1].at(b)));
    }
    size_t next = 2;
    if (node.flags & kHasAddend)
      terms.push_back(operands[next++].at(at));
    if (node.flags & kHasBias)
      terms.push_back(operands[next].at({n}));
    Number sum = math.sum(terms);
    return node.flags & kReluEpilogue ? math.relu(sum) : sum;
  });
}

void Evaluator::linear() {
  fill([&](const Dims &at) {
    Dims row = at, column = {at.back(), 0};
    std::vector<Number> terms;
    for (int64_t k = 0, end = operands[1].shape()[1]; k != end; ++k) {
      row.back() = column[1] = k;
      terms.push_back(math.mul(operands[0].at(row), operands[1].at(column)));
    }
    return math.sum(terms);
  });
}

void Evaluator::embedding() {
  fill([&](Dims at) {
    int64_t column = at.back();
    at.pop_back();
    const Number &id = operands[1].at(at);
    bool isInside = id.isKnown() && id.value >= 0 && id.value < operands[0].shape()[0];
    graph.mayFail |= !isInside;
    return isInside ? operands[0].at({static_cast<int64_t>(id.value), column}) : unknown();
  });
}

void Evaluator::softmaxRow(std::vector<Number> &z) const {
  // The maximum is only a shift, which moves rounding errors by its size.
  Number shift = stopped(math.max(absl::MakeConstSpan(z)));
  bool isKnown = shift.isKnown() && std::isfinite(shift.value);
  double size = isKnown ? math.getUnit() * std::abs(shift.value) : 0;
  std::vector<Number> powers;
  for (const Number &value : z) {
    Number shifted = math.add(value, exact(isKnown ? -shift.value : 0));
    if (std::isfinite(shifted.value))
      shifted.error += size + math.getUnit() * std::abs(value.value);
    powers.push_back(math.exp(shifted));
  }
  Number sum = math.sum(powers);
  for (size_t i = 0; i != z.size(); ++i)
    z[i] = isKnown ? math.div(powers[i], sum) : unknown();
}

void Evaluator::softmax() {
  int64_t length = node.type.shape.back();
  Dims maskShape = operands.size() > 1 ? operands[1].shape() : Dims();
  node.values.resize(operands[0].values.size());
  for (int64_t begin = 0, end = static_cast<int64_t>(operands[0].values.size()); begin != end; begin += length) {
    std::vector<Number> row;
    for (int64_t i = begin; i != begin + length; ++i) {
      Number visible = exact(1);
      if (operands.size() > 1)
        visible = operands[1].values[i % static_cast<int64_t>(operands[1].values.size())];
      Number score = scaled(node.number, operands[0].values[i]);
      row.push_back(visible.isKnown() ? (visible.value != 0 ? score : exact(-INFINITY)) : unknown());
    }
    softmaxRow(row);
    std::copy(row.begin(), row.end(), node.values.begin() + begin);
  }
}

void Evaluator::attention() {
  const Dims &query = operands[0].shape(), &key = operands[1].shape();
  int64_t group = query[2] / key[2], keys = key[1], dim = query[3];
  node.values.resize(operands[0].values.size());
  for (int64_t b = 0; b != query[0]; ++b)
    for (int64_t i = 0; i != query[1]; ++i)
      for (int64_t h = 0; h != query[2]; ++h) {
        std::vector<Number> row;
        for (int64_t j = 0; j != keys; ++j) {
          std::vector<Number> terms;
          for (int64_t d = 0; d != dim; ++d)
            terms.push_back(math.mul(operands[0].at({b, i, h, d}), operands[1].at({b, j, h / group, d})));
          bool isVisible = !(node.flags & kCausal) || j <= i;
          row.push_back(isVisible ? scaled(node.number, math.sum(terms)) : exact(-INFINITY));
        }
        softmaxRow(row);
        for (int64_t d = 0; d != dim; ++d) {
          std::vector<Number> terms;
          for (int64_t j = 0; j != keys; ++j)
            terms.push_back(math.mul(row[j], operands[2].at({b, j, h / group, d})));
          node.values[ravel({b, i, h, d}, query)] = math.sum(terms);
        }
      }
}

void Evaluator::norm() {
  int64_t length = node.type.shape.back();
  bool isCentred = node.op == Op::kLayerNorm;
  for (auto begin = operands[0].values.begin(); begin != operands[0].values.end(); begin += length) {
    std::vector<Number> row(begin, begin + length), squares;
    if (isCentred) {
      Number mean = scaled(1.0 / length, math.sum(row));
      for (Number &value : row)
        value = math.sub(value, mean);
    }
    for (const Number &value : row)
      squares.push_back(math.mul(value, value));
    Number r = math.rsqrt(math.add(scaled(1.0 / length, math.sum(squares)), exact(node.number)));
    for (int64_t i = 0; i != length; ++i) {
      Number value = math.mul(math.mul(row[i], r), operands[1].values[i]);
      node.values.push_back(isCentred ? math.add(value, operands[2].values[i]) : value);
    }
  }
}

void Evaluator::rope() {
  int64_t dim = node.type.shape.back(), positions = node.type.shape.end()[-2];
  fill([&](Dims at) {
    int64_t last = at.back(), position = at.end()[-2];
    double angle = static_cast<double>(position % positions) *
                   std::pow(node.number, -static_cast<double>(last / 2 * 2) / static_cast<double>(dim));
    // Tables of sines and cosines are rounded to the type.
    Number cosine = math.rounded(exact(std::cos(angle))), sine = math.rounded(exact(std::sin(angle)));
    at.back() = last / 2 * 2;
    Number even = operands[0].at(at);
    at.back() += 1;
    Number odd = operands[0].at(at);
    return last % 2 == 0 ? math.sub(math.mul(even, cosine), math.mul(odd, sine))
                         : math.add(math.mul(even, sine), math.mul(odd, cosine));
  });
}

void Evaluator::crossEntropy() {
  int64_t classes = operands[0].shape().back();
  std::vector<Number> losses;
  for (size_t row = 0; row != operands[1].values.size(); ++row) {
    absl::Span<const Number> logits(&operands[0].values[row * classes], classes);
    const Number &target = operands[1].values[row];
    bool isInside = target.isKnown() && target.value >= 0 && target.value < classes;
    graph.mayFail |= !isInside;
    Number shift = stopped(math.max(logits));
    bool isKnown = isInside && shift.isKnown() && std::isfinite(shift.value);
    std::vector<Number> powers;
    Number picked = unknown();
    for (int64_t i = 0; isKnown && i != classes; ++i) {
      Number shifted = math.add(logits[i], exact(-shift.value));
      shifted.error += math.getUnit() * (std::abs(shift.value) + std::abs(logits[i].value));
      powers.push_back(math.exp(shifted));
      if (static_cast<double>(i) == target.value)
        picked = shifted;
    }
    losses.push_back(isKnown ? math.sub(math.log(math.sum(powers)), picked) : unknown());
  }
  node.values = {scaled(1.0 / static_cast<double>(losses.size()), math.sum(losses))};
}

} // namespace cs336::fuzz
