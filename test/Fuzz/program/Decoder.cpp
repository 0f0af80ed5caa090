//===- Decoder.cpp - From recipes to programs -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <numeric>

namespace cs336::fuzz {
namespace {

constexpr size_t kMostOutputs = 6;
/// Larger values are squashed: functions of them amplify rounding errors too much to compare.
constexpr double kLargest = 20;

std::vector<DType> floatTypes(uint8_t byte) {
  switch (byte % 8) {
  case 0:
  case 1:
  case 2:
    return {DType::kF32};
  case 3:
  case 4:
    return {DType::kF64};
  case 5:
    return {DType::kF32, DType::kF64};
  case 6:
    return {DType::kF32, DType::kBF16};
  default:
    return {DType::kF32, DType::kF16};
  }
}

} // namespace

Decoder::Decoder(const Recipe &recipe, Graph &graph)
    : recipe(recipe), graph(graph), build(graph, recipe.header[Recipe::kSeed0] + 256u * recipe.header[Recipe::kSeed1],
                                          static_cast<Values>(recipe.header[Recipe::kValues] % 4)),
      types(floatTypes(recipe.header[Recipe::kTypes])) {}

const std::vector<Decoder::Step> &Decoder::steps() {
  static const std::vector<Step> steps = {
      &Decoder::source,     &Decoder::constant,    &Decoder::iota,      &Decoder::unary,        &Decoder::logic,
      &Decoder::unary,      &Decoder::binary,      &Decoder::binary,    &Decoder::binary,       &Decoder::integers,
      &Decoder::comparison, &Decoder::select,      &Decoder::cast,      &Decoder::broadcast,    &Decoder::broadcast,
      &Decoder::reduce,     &Decoder::reduce,      &Decoder::reshape,   &Decoder::transpose,    &Decoder::slice,
      &Decoder::pad,        &Decoder::concat,      &Decoder::matmul,    &Decoder::matmul,       &Decoder::linear,
      &Decoder::embedding,  &Decoder::norm,        &Decoder::rope,      &Decoder::crossEntropy, &Decoder::output,
      &Decoder::softmax,    &Decoder::spelledNorm, &Decoder::attention, &Decoder::feedForward,  &Decoder::sharedInput};
  return steps;
}

void Decoder::run() {
  for (const Recipe::Instruction &instruction : recipe.instructions)
    decode(instruction);
  current = recipe.header;
  next = 0;
  addOutputs();
}

void Decoder::decode(const Recipe::Instruction &instruction) {
  current = instruction;
  next = 0;
  size_t before = graph.nodes.size();
  bool mayFail = graph.mayFail;
  std::vector<int> poolBefore = pool;
  int node = (this->*steps()[nextByte() % steps().size()])();
  auto isUseful = [](const Node &made) {
    auto isKnown = [](const Number &number) { return number.isKnown() && std::isfinite(number.value); };
    return 2 * std::count_if(made.values.begin(), made.values.end(), isKnown) >=
           static_cast<int64_t>(made.values.size());
  };
  if (node != kNone && isUseful(graph.nodes[node]))
    return keep(node);
  // Skips the instruction.
  graph.nodes.resize(before);
  graph.mayFail = mayFail;
  pool = std::move(poolBefore);
}

void Decoder::keep(int node) {
  const Node &made = graph.nodes[node];
  bool isLarge = std::any_of(made.values.begin(), made.values.end(),
                             [](const Number &number) { return std::abs(number.value) > kLargest; });
  int squashed = isLarge && runtime::IsFloat(made.type.dtype) ? build.unary(Op::kTanh, node) : node;
  if (squashed != kNone && !std::count(pool.begin(), pool.end(), squashed))
    pool.push_back(squashed);
}

uint8_t Decoder::nextByte() { return next < current.size() ? current[next++] : 0; }

int64_t Decoder::size() {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65};
  // Small sizes find most faults just as well, and leave room for more operations.
  uint8_t byte = nextByte();
  return byte < 200 ? kSizes[byte % 8] : kSizes[byte % std::size(kSizes)];
}

Dims Decoder::chooseShape(int64_t leastRank, int64_t mostRank) {
  Dims shape;
  for (int64_t rank = leastRank + below(mostRank - leastRank + 1); rank != 0; --rank)
    shape.push_back(size());
  return shape;
}

DType Decoder::floatType() { return types.size() == 1 ? types[0] : types[below(2)]; }

std::vector<int64_t> Decoder::permutation(int64_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  for (int64_t count = nextByte() % 24; count != 0; --count)
    std::next_permutation(perm.begin(), perm.end());
  return perm;
}

int Decoder::pick(const std::function<bool(int)> &suits) {
  uint8_t byte = nextByte();
  std::vector<int> candidates;
  std::copy_if(pool.begin(), pool.end(), std::back_inserter(candidates), suits);
  if (candidates.empty())
    return kNone;
  size_t among = byte < 160 ? std::min<size_t>(3, candidates.size()) : candidates.size();
  return candidates[candidates.size() - 1 - byte % among];
}

int Decoder::pickNumber() {
  return pick([&](int x) { return build.dtype(x) != DType::kI1; });
}

int Decoder::pickFloat(int64_t leastRank) {
  int x = pick([&](int x) { return runtime::IsFloat(build.dtype(x)) && build.rank(x) >= leastRank; });
  if (x != kNone)
    return x;
  DType dtype = floatType();
  return addWeight(dtype, chooseShape(std::max<int64_t>(leastRank, 1), 3));
}

int Decoder::addWeight(DType dtype, Dims shape) {
  int weight = build.parameter(dtype, std::move(shape));
  if (weight != kNone)
    pool.push_back(weight);
  return weight;
}

int Decoder::like(int x) {
  if (x == kNone)
    return kNone;
  TensorType type = build.type(x);
  uint8_t how = nextByte();
  if (how < 128) {
    if (int y = pick([&](int y) { return build.type(y) == type && y != x; }); y != kNone)
      return y;
  } else if (how < 208) {
    // A row or a scalar: axes at the end, or all but the last.
    int row = pick([&](int y) {
      const Dims &shape = build.shape(y);
      return build.dtype(y) == type.dtype && shape.size() < type.shape.size() &&
             std::equal(shape.begin(), shape.end(), type.shape.end() - shape.size());
    });
    if (row != kNone) {
      std::vector<int64_t> dims(build.rank(row));
      std::iota(dims.begin(), dims.end(), static_cast<int64_t>(type.shape.size()) - build.rank(row));
      return build.broadcast(row, dims, type.shape);
    }
  } else if (how < 216) {
    return x;
  }
  if (how % 4 == 0)
    return type.dtype == DType::kI1 ? kNone : build.input(type.dtype, type.shape);
  if (how % 4 == 1)
    return build.constant(type.dtype, type.shape, how % 3);
  if (runtime::IsFloat(type.dtype))
    return addWeight(type.dtype, type.shape);
  return build.table(type.dtype, type.shape, /*bound=*/type.dtype == DType::kI1 ? 2 : 7);
}

void Decoder::addOutputs() {
  std::vector<bool> isUsed(graph.nodes.size());
  for (const Node &node : graph.nodes)
    for (int operand : node.operands)
      isUsed[operand] = true;
  if (pool.empty())
    addWeight(types[0], {3});
  bool keepsUnused = recipe.header[Recipe::kGradients] & 2;
  for (auto node = pool.rbegin(); node != pool.rend() && outputs.size() < kMostOutputs; ++node)
    if (node == pool.rbegin() || (keepsUnused && !isUsed[*node]))
      outputs.push_back(*node);
  int loss = recipe.header[Recipe::kGradients] & 1 ? makeLoss() : kNone;
  graph.hasGradients = loss != kNone;
  for (size_t i = 0; i != outputs.size(); ++i)
    graph.outputs.push_back({absl::StrCat("y", i), outputs[i]});
  if (graph.hasGradients)
    graph.outputs.push_back({"loss", loss});
}

int Decoder::makeLoss() {
  int loss = kNone;
  for (int output : outputs) {
    if (!runtime::IsFloat(build.dtype(output)))
      continue;
    // Every element has another weight.
    int weights = build.input(build.dtype(output), build.shape(output));
    std::vector<int64_t> axes(build.rank(output));
    std::iota(axes.begin(), axes.end(), 0);
    int term = build.reduce(Op::kReduceSum, build.binary(Op::kMul, output, weights), axes);
    DType wide = types[0];
    if (term != kNone && build.dtype(term) != wide)
      term = build.cast(term, wide);
    if (term != kNone)
      loss = loss == kNone ? term : build.binary(Op::kAdd, loss, term);
  }
  bool isKnown = loss != kNone && graph.nodes[loss].values[0].isKnown();
  return isKnown && graph.nodes[loss].type.dtype == types[0] ? loss : kNone;
}

Case decode(const Recipe &recipe) {
  constexpr const char *kComputeTypes[] = {"fp32", "tf32", "bf16", "fp16"};
  constexpr uint8_t kComputes[] = {0, 0, 0, 0, 0, 1, 2, 3};
  constexpr const char *kFusions[] = {"all", "all", "all", "all", "all", "elementwise", "softmax", "flash"};
  constexpr const char *kCpus[] = {"host", "host", "host", "host", "host", "host", "generic", "x86-64-v3"};
  Case result;
  uint8_t compute = kComputes[recipe.header[Recipe::kCompute] % 8], machine = recipe.header[Recipe::kMachine];
  result.graph.compute = static_cast<ComputeType>(compute);
  result.cpu = kCpus[machine % 8];
  Decoder(recipe, result.graph).run();
  // A program in float64 refuses other types.
  bool hasNarrow = std::any_of(result.graph.nodes.begin(), result.graph.nodes.end(), [](const Node &node) {
    return runtime::IsFloat(node.type.dtype) && node.type.dtype != DType::kF64;
  });
  if (!hasNarrow)
    result.graph.compute = ComputeType::kFP32;
  result.plain = absl::StrCat("dtype=", kComputeTypes[static_cast<size_t>(result.graph.compute)]);
  result.fused = absl::StrCat(result.plain, " fusion=", kFusions[machine / 8 % 8]);
  result.plain += " fusion=none";
  if (uint8_t options = recipe.header[Recipe::kPipeline]; options >= 128) {
    constexpr const char *kOptions[] = {
        " checkpoint=1",         " recompute-pointwise=1",  " merge-gemms=false",       " weight-shadows=false",
        " fuse-epilogues=false", " hoist-invariants=false", " selective-checkpoint=0.5"};
    for (size_t i = 0; i != std::size(kOptions); ++i)
      if (options >> i & 1)
        result.fused += kOptions[i];
  }
  // Only these instruction sets support f16.
  bool hasF16 = result.graph.compute == ComputeType::kFP16 ||
                std::any_of(result.graph.nodes.begin(), result.graph.nodes.end(),
                            [](const Node &node) { return node.type.dtype == DType::kF16; });
  if (hasF16 && result.cpu == "generic")
    result.cpu = "x86-64-v3";
  return result;
}

} // namespace cs336::fuzz
