//===- Evaluator.h - One operation of the reference -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_EVALUATOR_H
#define CS336_TEST_FUZZ_PROGRAM_EVALUATOR_H

#include "Graph.h"

namespace cs336::fuzz {

/// Coordinates of a row-major index.
inline Dims unravel(int64_t position, const Dims &shape) {
  Dims at(shape.size());
  for (size_t axis = shape.size(); axis-- != 0; position /= shape[axis])
    at[axis] = position % shape[axis];
  return at;
}

inline int64_t ravel(const Dims &at, const Dims &shape) {
  int64_t position = 0;
  for (size_t axis = 0; axis != shape.size(); ++axis)
    position = position * shape[axis] + at[axis];
  return position;
}

/// An operand: its type, and its values as the operation reads them.
struct Tensor {
  TensorType type;
  std::vector<Number> values;

  const Dims &shape() const { return type.shape; }
  const Number &at(const Dims &coordinates) const { return values[ravel(coordinates, type.shape)]; }
};

/// Computes one node.
class Evaluator {
public:
  Evaluator(Graph &graph, Node &node) : graph(graph), node(node), math(node.type.dtype, graph.compute) {
    for (int operand : node.operands) {
      const Node &source = graph.nodes[operand];
      operands.push_back({source.type, source.values});
      Arithmetic math(source.type.dtype, graph.compute);
      for (Number &value : operands.back().values)
        value = math.operand(value);
    }
  }

  void run();

private:
  template <typename Function>
  void fill(Function &&function) {
    int64_t count = elementsOf(node.type.shape);
    node.values.resize(count);
    for (int64_t i = 0; i != count; ++i)
      node.values[i] = function(unravel(i, node.type.shape));
  }
  template <typename Function>
  void fillPointwise(Function &&function) {
    fill([&](const Dims &at) { return function(operands[0].at(at)); });
  }
  template <typename Function>
  void fillBinary(Function &&function) {
    fill([&](const Dims &at) { return function(operands[0].at(at), operands[1].at(at)); });
  }

  Number gelu(const Number &x) const;
  Number geluTanh(const Number &x) const;
  Number compare(const Number &x, const Number &y) const;
  /// And and or: an operand that is `deciding` decides the result.
  Number connect(const Number &x, const Number &y, double deciding) const;
  Number select(const Number &predicate, const Number &x, const Number &y) const;
  Number cast(const Number &x) const;
  void broadcast();
  void transpose();
  void slice();
  void pad();
  void concat();
  void reduce();
  void matmul();
  void linear();
  void embedding();
  /// Computes softmax of `z` in place. Entries may be minus infinity.
  void softmaxRow(std::vector<Number> &z) const;
  void softmax();
  void attention();
  void norm();
  void rope();
  void crossEntropy();

  Number scaled(double factor, const Number &x) const { return math.mul(exact(factor), x); }

  Graph &graph;
  Node &node;
  Arithmetic math;
  std::vector<Tensor> operands;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_EVALUATOR_H
