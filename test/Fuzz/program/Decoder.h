//===- Decoder.h - From recipes to programs ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_DECODER_H
#define CS336_TEST_FUZZ_PROGRAM_DECODER_H

#include "Graph.h"
#include "GraphBuilder.h"
#include "Recipe.h"

#include <functional>
#include <string>

namespace cs336::fuzz {

/// A program and two ways to compile it.
struct Case {
  Graph graph;
  /// Options of `--cs336-pipeline`: without fusion, and with the recipe's choices.
  std::string plain, fused;
  /// The instruction set of kernels: "host", "generic", "x86-64-v3".
  std::string cpu;
};

Case decode(const Recipe &recipe);

/// Chooses operations and operands by the bytes of one instruction after another.
class Decoder {
public:
  Decoder(const Recipe &recipe, Graph &graph);

  void run();

private:
  using Step = int (Decoder::*)();
  static const std::vector<Step> &steps();
  static constexpr int kNone = GraphBuilder::kNone;

  void decode(const Recipe::Instruction &instruction);
  void keep(int node);

  // Choices, each of which takes one byte. Two of them must not be in the arguments of one call, whose order the
  // compiler chooses.
  uint8_t nextByte();
  int64_t below(int64_t end) { return nextByte() % end; }
  bool flip() { return nextByte() & 1; }
  int64_t size();
  Dims chooseShape(int64_t leastRank, int64_t mostRank);
  DType floatType();
  DType intType() { return flip() ? DType::kI64 : DType::kI32; }
  std::vector<int64_t> permutation(int64_t rank);
  /// Returns a suitable value, with a preference for late ones; kNone if there is none.
  int pick(const std::function<bool(int)> &suits);
  int pickNumber();
  /// Returns a value of a float type, or a new parameter if there is none.
  int pickFloat(int64_t leastRank = 0);
  /// Returns another value of the type of x: an existing one, a row or a scalar broadcast, or a new source.
  int like(int x);
  int addWeight(DType dtype, Dims shape);

  // Steps: one operation or idiom each; kNone if it is not possible.
  int source();
  int constant();
  int iota();
  int unary();
  int binary();
  int integers();
  int comparison();
  int logic();
  int select();
  int cast();
  int broadcast();
  int reduce();
  int reshape();
  int transpose();
  int slice();
  int pad();
  int concat();
  int matmul();
  int linear();
  int indices();
  int embedding();
  int norm();
  int rope();
  int crossEntropy();
  int output();

  // Idioms: chains that passes look for, spelled in one of the ways that they may be.
  int softmax();
  int spelledSoftmax(int x);
  int spelledNorm();
  int causalMask(int64_t queries, int64_t keys);
  int mask(int scores);
  int splitHeads(int64_t batch, int64_t length, int64_t heads, int64_t dim, bool isProjected);
  int attention();
  int feedForward();
  int sharedInput();
  int makeLoss();

  void addOutputs();

  const Recipe &recipe;
  Graph &graph;
  GraphBuilder build;
  std::vector<DType> types;
  /// Nodes that operands are picked from.
  std::vector<int> pool;
  std::vector<int> outputs;
  Recipe::Instruction current = {};
  size_t next = 0;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_DECODER_H
