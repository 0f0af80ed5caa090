//===- Graph.h - Programs of the dialect as plain data ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_GRAPH_H
#define CS336_TEST_FUZZ_PROGRAM_GRAPH_H

#include "Number.h"
#include "cs336/runtime/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::fuzz {

using runtime::Dims;
using runtime::TensorType;

enum class Op : uint8_t {
  // Sources.
  kParameter,
  kInput,
  kConstant,
  kIota,
  // Element-wise, with one operand.
  kNeg,
  kExp,
  kLog,
  kRsqrt,
  kSqrt,
  kSin,
  kCos,
  kTanh,
  kErf,
  kSigmoid,
  kSilu,
  kRelu,
  kGelu,
  kGeluTanh,
  // Element-wise, with two operands.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kCompare,
  kAnd,
  kOr,
  kNot,
  kSelect,
  kCast,
  // Layout.
  kBroadcast,
  kReshape,
  kTranspose,
  kSlice,
  kPad,
  kConcat,
  // Rows and matrices.
  kReduceSum,
  kReduceMax,
  kMatmul,
  kLinear,
  kEmbedding,
  kSoftmax,
  kAttention,
  kRmsNorm,
  kLayerNorm,
  kRope,
  kCrossEntropy,
};

/// Predicates in the encoding of `Node::integers`.
enum Predicate : uint8_t { kEQ, kNE, kLT, kLE, kGT, kGE };

/// Flags of `Node::flags`.
enum Flag : uint8_t {
  kTransposeA = 1,
  kTransposeB = 2,
  kReluEpilogue = 4,
  kHasAddend = 8,
  kHasBias = 16,
  /// Excludes the gradient of a maximum.
  kStopGradient = 32,
  kCausal = 64,
};

/// One operation, and the reference's values of its result.
struct Node {
  Op op;
  TensorType type;
  std::vector<int> operands = {};
  /// Axes, dims, a permutation, offsets, or the predicate; for an input of indices, its bound.
  std::vector<int64_t> integers = {};
  /// The scale, eps or theta.
  double number = 0;
  uint8_t flags = 0;
  /// Row-major values. Sources get theirs when they are added.
  std::vector<Number> values = {};
};

struct Output {
  std::string name;
  int node;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  ComputeType compute = ComputeType::kFP32;
  /// True if gradients of the output "loss" are computed.
  bool hasGradients = false;
  /// True if an index is, or may be after rounding, outside of its table: an error is then correct.
  bool mayFail = false;
};

/// Returns the graph as the function `f` of the dialect.
std::string print(const Graph &graph);

/// Returns the name of a node that is a parameter or an input.
std::string nameOf(const Graph &graph, int node);

int64_t elementsOf(const Dims &shape);

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_GRAPH_H
