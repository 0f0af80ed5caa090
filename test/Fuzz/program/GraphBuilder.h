//===- GraphBuilder.h - Building graphs per operation -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_GRAPHBUILDER_H
#define CS336_TEST_FUZZ_PROGRAM_GRAPHBUILDER_H

#include "Graph.h"

namespace cs336::fuzz {

/// The origin of source values.
enum class Values : uint8_t { kNormal, kFewDistinct, kPositive, kWithZeros };

/// Appends operations to a graph and evaluates them at once. A node is identified by its number. Every method returns
/// kNone if an operand is kNone, if the operation is not defined on the operands' types, or if the result would be too
/// large, so that calls can be nested without checks in between.
class GraphBuilder {
public:
  static constexpr int kNone = -1;
  static constexpr int64_t kMostElements = 4400;
  static constexpr size_t kMostNodes = 120;

  GraphBuilder(Graph &graph, uint32_t seed, Values values) : graph(graph), seed(seed), values(values) {}

  const Node &node(int index) const { return graph.nodes[index]; }
  const TensorType &type(int index) const { return node(index).type; }
  const Dims &shape(int index) const { return type(index).shape; }
  DType dtype(int index) const { return type(index).dtype; }
  int64_t rank(int index) const { return static_cast<int64_t>(shape(index).size()); }

  int parameter(DType dtype, Dims shape);
  int input(DType dtype, Dims shape);
  /// Adds indices in [0, bound), which the program may declare.
  int indices(DType dtype, Dims shape, int64_t bound, bool isDeclared);
  int constant(DType dtype, Dims shape, double splat);
  /// Adds a constant with different elements; integers are in [0, bound).
  int table(DType dtype, Dims shape, int64_t bound);
  int iota(DType dtype, Dims shape, int64_t axis);

  int unary(Op op, int x);
  int binary(Op op, int x, int y);
  int compare(Predicate predicate, int x, int y);
  /// `Op::kNot` ignores the second operand.
  int logic(Op op, int p, int q);
  int select(int predicate, int x, int y);
  int cast(int x, DType dtype);

  int broadcast(int x, std::vector<int64_t> dims, Dims shape);
  int reshape(int x, Dims shape);
  int transpose(int x, std::vector<int64_t> perm);
  int slice(int x, std::vector<int64_t> offsets, Dims shape);
  int pad(int x, std::vector<int64_t> offsets, Dims shape);
  int concat(int64_t axis, std::vector<int> parts);

  int reduce(Op op, int x, std::vector<int64_t> axes, uint8_t flags = 0);
  int matmul(int x, int y, uint8_t flags = 0, int addend = kNone, int bias = kNone);
  int linear(int x, int weight);
  int embedding(int table, int ids);
  int softmax(int x, int mask, double scale);
  int attention(int query, int key, int value, double scale, bool isCausal);
  int rmsNorm(int x, int weight);
  int layerNorm(int x, int weight, int bias);
  int rope(int x, double theta);
  int crossEntropy(int logits, int targets);

  /// Adds x op splat, with the splat as a constant.
  int withNumber(Op op, int x, double number);
  /// Repeats `row`, which has the shape of x without its last axis, along that axis.
  int alongRows(int row, int x);

private:
  bool isFloat(int x) const { return x != kNone && runtime::IsFloat(dtype(x)); }
  bool areSame(int x, int y) const { return x != kNone && y != kNone && type(x) == type(y); }
  int source(Op op, DType dtype, Dims shape);
  int append(Node node);
  /// Returns a uniform number in [0, 1) that depends on the seed, the node and the element.
  double random(uint64_t element, uint64_t stream) const;
  double sourceValue(uint64_t element, DType dtype) const;

  Graph &graph;
  uint32_t seed;
  Values values;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_GRAPHBUILDER_H
