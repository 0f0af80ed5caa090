//===- GraphBuilder.cpp - Building graphs per operation -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"

#include "Reference.h"

#include <algorithm>

namespace cs336::fuzz {

double GraphBuilder::random(uint64_t element, uint64_t stream) const {
  // SplitMix64.
  uint64_t z = (uint64_t{seed} << 40) + (graph.nodes.size() << 24) + (stream << 20) + element;
  z = (z + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return std::ldexp(static_cast<double>((z ^ (z >> 31)) >> 11), -53);
}

double GraphBuilder::sourceValue(uint64_t element, DType dtype) const {
  if (!runtime::IsFloat(dtype))
    return std::floor(random(element, 0) * 9) - 4;
  // The sum of three uniform numbers is close to a normal number, without its tails.
  double normal = 2 * (random(element, 0) + random(element, 1) + random(element, 2) - 1.5);
  switch (values) {
  case Values::kNormal:
    return roundTo(normal, dtype);
  case Values::kFewDistinct:
    return std::rint(normal * 2) / 2;
  case Values::kPositive:
    return roundTo(std::abs(normal) + 0.125, dtype);
  case Values::kWithZeros:
    return random(element, 3) < 0.3 ? 0 : roundTo(normal, dtype);
  }
  return 0;
}

int GraphBuilder::append(Node node) {
  bool isMissing = std::count(node.operands.begin(), node.operands.end(), kNone) > 0;
  if (isMissing || elementsOf(node.type.shape) > kMostElements || node.type.shape.size() > 6 ||
      graph.nodes.size() >= kMostNodes)
    return kNone;
  graph.nodes.push_back(std::move(node));
  int index = static_cast<int>(graph.nodes.size()) - 1;
  evaluate(graph, index);
  return index;
}

int GraphBuilder::source(Op op, DType dtype, Dims shape) {
  Node node = {.op = op, .type = {dtype, shape}};
  for (int64_t i = 0, end = std::min(elementsOf(shape), kMostElements + 1); i != end; ++i)
    node.values.push_back(exact(sourceValue(i, dtype)));
  return append(std::move(node));
}

int GraphBuilder::parameter(DType dtype, Dims shape) { return source(Op::kParameter, dtype, std::move(shape)); }
int GraphBuilder::input(DType dtype, Dims shape) { return source(Op::kInput, dtype, std::move(shape)); }

int GraphBuilder::indices(DType dtype, Dims shape, int64_t bound, bool isDeclared) {
  Node node = {.op = Op::kInput, .type = {dtype, shape}};
  if (isDeclared)
    node.integers = {bound};
  for (int64_t i = 0, end = std::min(elementsOf(shape), kMostElements + 1); i != end; ++i)
    node.values.push_back(exact(std::floor(random(i, 0) * static_cast<double>(bound))));
  return append(std::move(node));
}

int GraphBuilder::constant(DType dtype, Dims shape, double splat) {
  Node node = {.op = Op::kConstant, .type = {dtype, shape}};
  int64_t count = std::min(elementsOf(shape), kMostElements + 1);
  node.values.assign(count, exact(std::isinf(splat) ? splat : roundTo(splat, dtype)));
  return append(std::move(node));
}

int GraphBuilder::table(DType dtype, Dims shape, int64_t bound) {
  Node node = {.op = Op::kConstant, .type = {dtype, shape}};
  for (int64_t i = 0, end = std::min(elementsOf(shape), kMostElements + 1); i != end; ++i)
    node.values.push_back(
        exact(runtime::IsFloat(dtype) ? sourceValue(i, dtype) : std::floor(random(i, 0) * static_cast<double>(bound))));
  return append(std::move(node));
}

int GraphBuilder::iota(DType dtype, Dims shape, int64_t axis) {
  if (axis >= static_cast<int64_t>(shape.size()) || dtype == DType::kI1)
    return kNone;
  return append({.op = Op::kIota, .type = {dtype, shape}, .integers = {axis}});
}

int GraphBuilder::unary(Op op, int x) {
  bool isDefined = isFloat(x) || (op == Op::kNeg && x != kNone && dtype(x) != DType::kI1);
  return isDefined ? append({.op = op, .type = type(x), .operands = {x}}) : kNone;
}

int GraphBuilder::binary(Op op, int x, int y) {
  if (!areSame(x, y) || dtype(x) == DType::kI1 || ((op == Op::kDiv || op == Op::kPow) && !isFloat(x)))
    return kNone;
  return append({.op = op, .type = type(x), .operands = {x, y}});
}

int GraphBuilder::compare(Predicate predicate, int x, int y) {
  if (!areSame(x, y) || dtype(x) == DType::kI1)
    return kNone;
  return append({.op = Op::kCompare, .type = {DType::kI1, shape(x)}, .operands = {x, y}, .integers = {predicate}});
}

int GraphBuilder::logic(Op op, int p, int q) {
  if (!areSame(p, q) || dtype(p) != DType::kI1)
    return kNone;
  return append({.op = op, .type = type(p), .operands = op == Op::kNot ? std::vector{p} : std::vector{p, q}});
}

int GraphBuilder::select(int predicate, int x, int y) {
  bool isPredicate = predicate != kNone && dtype(predicate) == DType::kI1;
  if (!isPredicate || !areSame(x, y) || shape(predicate) != shape(x))
    return kNone;
  return append({.op = Op::kSelect, .type = type(x), .operands = {predicate, x, y}});
}

int GraphBuilder::cast(int x, DType dtype) {
  return x == kNone ? kNone : append({.op = Op::kCast, .type = {dtype, shape(x)}, .operands = {x}});
}

int GraphBuilder::broadcast(int x, std::vector<int64_t> dims, Dims shape) {
  if (x == kNone)
    return kNone;
  return append({.op = Op::kBroadcast, .type = {dtype(x), shape}, .operands = {x}, .integers = std::move(dims)});
}

int GraphBuilder::reshape(int x, Dims shape) {
  if (x == kNone || elementsOf(shape) != elementsOf(this->shape(x)))
    return kNone;
  return append({.op = Op::kReshape, .type = {dtype(x), shape}, .operands = {x}});
}

int GraphBuilder::transpose(int x, std::vector<int64_t> perm) {
  if (x == kNone || perm.size() != shape(x).size())
    return kNone;
  Dims to;
  for (int64_t axis : perm)
    to.push_back(shape(x)[axis]);
  return append({.op = Op::kTranspose, .type = {dtype(x), to}, .operands = {x}, .integers = std::move(perm)});
}

int GraphBuilder::slice(int x, std::vector<int64_t> offsets, Dims shape) {
  if (x == kNone)
    return kNone;
  return append({.op = Op::kSlice, .type = {dtype(x), shape}, .operands = {x}, .integers = std::move(offsets)});
}

int GraphBuilder::pad(int x, std::vector<int64_t> offsets, Dims shape) {
  if (x == kNone)
    return kNone;
  return append({.op = Op::kPad, .type = {dtype(x), shape}, .operands = {x}, .integers = std::move(offsets)});
}

int GraphBuilder::concat(int64_t axis, std::vector<int> parts) {
  if (std::count(parts.begin(), parts.end(), kNone) > 0)
    return kNone;
  TensorType to = type(parts.front());
  for (size_t i = 1; i != parts.size(); ++i)
    to.shape[axis] += shape(parts[i])[axis];
  return append({.op = Op::kConcat, .type = to, .operands = std::move(parts), .integers = {axis}});
}

int GraphBuilder::reduce(Op op, int x, std::vector<int64_t> axes, uint8_t flags) {
  if (x == kNone || dtype(x) == DType::kI1)
    return kNone;
  Dims kept;
  for (int64_t axis = 0; axis != rank(x); ++axis)
    if (!std::count(axes.begin(), axes.end(), axis))
      kept.push_back(shape(x)[axis]);
  return append({.op = op, .type = {dtype(x), kept}, .operands = {x}, .integers = std::move(axes), .flags = flags});
}

int GraphBuilder::matmul(int x, int y, uint8_t flags, int addend, int bias) {
  if (!isFloat(x) || !isFloat(y) || dtype(x) != dtype(y) || rank(x) < 2 || rank(y) < 2)
    return kNone;
  Dims to = shape(x);
  const Dims &from = shape(y);
  bool isShared = rank(y) == 2, transposeA = flags & kTransposeA, transposeB = flags & kTransposeB;
  if (!isShared && (rank(x) != rank(y) || !std::equal(to.begin(), to.end() - 2, from.begin())))
    return kNone;
  if (to.end()[transposeA ? -2 : -1] != from.end()[transposeB ? -1 : -2])
    return kNone;
  to.end()[-2] = shape(x).end()[transposeA ? -1 : -2];
  to.end()[-1] = from.end()[transposeB ? -2 : -1];
  std::vector<int> operands = {x, y};
  for (auto [value, flag] : {std::pair(addend, kHasAddend), std::pair(bias, kHasBias)})
    if (value != kNone) {
      operands.push_back(value);
      flags |= flag;
    }
  return append({.op = Op::kMatmul, .type = {dtype(x), to}, .operands = operands, .flags = flags});
}

int GraphBuilder::linear(int x, int weight) {
  if (!isFloat(x) || !isFloat(weight) || dtype(x) != dtype(weight) || rank(x) == 0 || rank(weight) != 2 ||
      shape(x).back() != shape(weight)[1])
    return kNone;
  Dims to = shape(x);
  to.back() = shape(weight)[0];
  return append({.op = Op::kLinear, .type = {dtype(x), to}, .operands = {x, weight}});
}

int GraphBuilder::embedding(int table, int ids) {
  if (!isFloat(table) || rank(table) != 2 || ids == kNone || isFloat(ids) || dtype(ids) == DType::kI1)
    return kNone;
  Dims to = shape(ids);
  to.push_back(shape(table)[1]);
  return append({.op = Op::kEmbedding, .type = {dtype(table), to}, .operands = {table, ids}});
}

int GraphBuilder::softmax(int x, int mask, double scale) {
  if (!isFloat(x) || rank(x) == 0)
    return kNone;
  Node node = {.op = Op::kSoftmax, .type = type(x), .operands = {x}, .number = scale};
  if (mask != kNone)
    node.operands.push_back(mask);
  return append(std::move(node));
}

int GraphBuilder::attention(int query, int key, int value, double scale, bool isCausal) {
  if (query == kNone || key == kNone || value == kNone)
    return kNone;
  return append({.op = Op::kAttention,
                 .type = type(query),
                 .operands = {query, key, value},
                 .number = scale,
                 .flags = static_cast<uint8_t>(isCausal ? kCausal : 0)});
}

int GraphBuilder::rmsNorm(int x, int weight) {
  if (!isFloat(x) || rank(x) == 0)
    return kNone;
  return append({.op = Op::kRmsNorm, .type = type(x), .operands = {x, weight}, .number = 1e-5});
}

int GraphBuilder::layerNorm(int x, int weight, int bias) {
  if (!isFloat(x) || rank(x) == 0)
    return kNone;
  return append({.op = Op::kLayerNorm, .type = type(x), .operands = {x, weight, bias}, .number = 1e-5});
}

int GraphBuilder::rope(int x, double theta) {
  if (!isFloat(x) || rank(x) < 2 || shape(x).back() % 2 != 0)
    return kNone;
  return append({.op = Op::kRope, .type = type(x), .operands = {x}, .number = theta});
}

int GraphBuilder::crossEntropy(int logits, int targets) {
  if (!isFloat(logits) || rank(logits) == 0)
    return kNone;
  DType wide = dtype(logits) == DType::kF64 ? DType::kF64 : DType::kF32;
  return append({.op = Op::kCrossEntropy, .type = {wide, {}}, .operands = {logits, targets}});
}

int GraphBuilder::withNumber(Op op, int x, double number) {
  return x == kNone ? kNone : binary(op, x, constant(dtype(x), shape(x), number));
}

int GraphBuilder::alongRows(int row, int x) {
  if (row == kNone || x == kNone)
    return kNone;
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis != rank(row); ++axis)
    dims.push_back(axis);
  return broadcast(row, dims, shape(x));
}

} // namespace cs336::fuzz
