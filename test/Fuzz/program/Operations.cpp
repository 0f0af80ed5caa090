//===- Operations.cpp - Instructions of one operation ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include <algorithm>
#include <numeric>

namespace cs336::fuzz {

int Decoder::source() {
  uint8_t kind = nextByte();
  DType dtype = floatType();
  Dims shape = chooseShape(0, 4);
  return kind % 4 == 0 ? build.input(dtype, shape) : build.parameter(dtype, shape);
}

int Decoder::constant() {
  uint8_t kind = nextByte();
  DType dtype = kind & 1 ? floatType() : intType();
  Dims shape = chooseShape(0, 3);
  constexpr double kSplats[] = {0, 1, -1, 0.5, 2, 3, -0.25, 1e-5};
  return kind & 2 ? build.table(dtype, shape, /*bound=*/5) : build.constant(dtype, shape, kSplats[kind / 4 % 8]);
}

int Decoder::iota() {
  DType dtype = flip() ? floatType() : intType();
  Dims shape = chooseShape(1, 3);
  return build.iota(dtype, shape, below(static_cast<int64_t>(shape.size())));
}

int Decoder::unary() {
  constexpr int kFirst = static_cast<int>(Op::kNeg), kCount = static_cast<int>(Op::kGeluTanh) - kFirst + 1;
  Op op = static_cast<Op>(kFirst + below(kCount));
  int x = pickFloat();
  if ((op == Op::kLog || op == Op::kSqrt || op == Op::kRsqrt) && nextByte() % 8 != 0)
    x = build.withNumber(Op::kAdd, build.binary(Op::kMul, x, x), 0.5);
  return build.unary(op, x);
}

int Decoder::binary() {
  constexpr int kFirst = static_cast<int>(Op::kAdd), kCount = static_cast<int>(Op::kPow) - kFirst + 1;
  Op op = static_cast<Op>(kFirst + below(kCount));
  int x = pickFloat(), y = like(x);
  bool isSwapped = flip();
  if (isSwapped)
    std::swap(x, y);
  if (op == Op::kDiv && nextByte() & 7)
    y = build.withNumber(Op::kAdd, build.binary(Op::kMul, y, y), 0.5);
  if (op == Op::kPow)
    x = build.withNumber(Op::kAdd, build.binary(Op::kMul, x, x), 0.5);
  return build.binary(op, x, y);
}

int Decoder::integers() {
  constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kMax, Op::kMin, Op::kNeg};
  Op op = kOps[below(std::size(kOps))];
  int x = pick([&](int x) { return !runtime::IsFloat(build.dtype(x)) && build.dtype(x) != DType::kI1; });
  if (x == kNone)
    return indices();
  return op == Op::kNeg ? build.unary(op, x) : build.binary(op, x, like(x));
}

int Decoder::comparison() {
  auto predicate = static_cast<Predicate>(below(6));
  int x = pickNumber();
  return build.compare(predicate, x, like(x));
}

int Decoder::logic() {
  constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kNot};
  Op op = kOps[below(std::size(kOps))];
  int p = pick([&](int p) { return build.dtype(p) == DType::kI1; });
  if (p == kNone)
    return comparison();
  int q = pick([&](int q) { return build.dtype(q) == DType::kI1 && build.shape(q) == build.shape(p); });
  return build.logic(op, p, q);
}

int Decoder::select() {
  int x = pickNumber(), y = like(x);
  if (x == kNone)
    return kNone;
  int predicate = pick([&](int p) { return build.dtype(p) == DType::kI1 && build.shape(p) == build.shape(x); });
  if (predicate == kNone) {
    auto kind = static_cast<Predicate>(below(6));
    if (build.rank(x) > 0 && flip()) {
      DType dtype = intType();
      int64_t row = below(build.rank(x)), column = below(build.rank(x));
      predicate =
          build.compare(kind, build.iota(dtype, build.shape(x), row), build.iota(dtype, build.shape(x), column));
    } else {
      predicate = build.compare(kind, x, y);
    }
  }
  return build.select(predicate, x, y);
}

int Decoder::cast() {
  int x = pick([](int) { return true; });
  uint8_t kind = nextByte();
  if (x == kNone)
    return kNone;
  DType to = kind % 8 == 0 ? DType::kI1 : kind % 8 < 3 ? intType() : floatType();
  return build.cast(x, to);
}

int Decoder::broadcast() {
  int x = pick([](int) { return true; });
  if (x == kNone)
    return kNone;
  Dims shape = build.shape(x);
  std::vector<int64_t> dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  for (int64_t count = 1 + below(2); count != 0; --count) {
    int64_t axis = below(static_cast<int64_t>(shape.size()) + 1);
    shape.insert(shape.begin() + axis, size());
    for (int64_t &dim : dims)
      dim += dim >= axis;
  }
  return build.broadcast(x, dims, shape);
}

int Decoder::reduce() {
  uint8_t kind = nextByte();
  int x = kind & 64 ? pickNumber() : pickFloat(1);
  if (x == kNone || build.rank(x) == 0)
    return kNone;
  uint8_t mask = nextByte();
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis != build.rank(x); ++axis)
    if (mask >> axis & 1)
      axes.push_back(axis);
  // Most reductions are row reductions.
  if (mask >= 96 || axes.empty())
    axes = {build.rank(x) - 1};
  return build.reduce(kind & 3 ? Op::kReduceSum : Op::kReduceMax, x, axes,
                      kind & 32 && !(kind & 3) ? kStopGradient : 0);
}

int Decoder::reshape() {
  int x = pick([](int) { return true; });
  if (x == kNone)
    return kNone;
  Dims shape = build.shape(x);
  uint8_t how = nextByte();
  if (shape.size() > 1 && how & 1) { // Merges two axes.
    int64_t axis = below(static_cast<int64_t>(shape.size()) - 1);
    shape[axis] *= shape[axis + 1];
    shape.erase(shape.begin() + axis + 1);
  }
  if (!shape.empty() && how & 2) { // Splits one.
    int64_t axis = below(static_cast<int64_t>(shape.size()));
    for (int64_t factor : {2, 3, 5, 7})
      if (shape[axis] % factor == 0) {
        shape[axis] /= factor;
        shape.insert(shape.begin() + axis + (how >> 4 & 1), factor);
        break;
      }
  }
  if (how & 4)
    shape.insert(shape.begin() + below(static_cast<int64_t>(shape.size()) + 1), 1);
  if (how & 8)
    if (auto one = std::find(shape.begin(), shape.end(), 1); one != shape.end())
      shape.erase(one);
  return build.reshape(x, shape);
}

int Decoder::transpose() {
  int x = pick([&](int x) { return build.rank(x) > 1; });
  return x == kNone ? kNone : build.transpose(x, permutation(build.rank(x)));
}

int Decoder::slice() {
  int x = pick([&](int x) { return build.rank(x) > 0; });
  if (x == kNone)
    return kNone;
  Dims shape = build.shape(x);
  std::vector<int64_t> offsets(shape.size(), 0);
  for (int64_t count = 1 + below(2); count != 0; --count) {
    int64_t axis = below(static_cast<int64_t>(shape.size()));
    int64_t size = 1 + below(shape[axis]);
    offsets[axis] += below(shape[axis] - size + 1);
    shape[axis] = size;
  }
  return build.slice(x, offsets, shape);
}

int Decoder::pad() {
  int x = pick([&](int x) { return build.rank(x) > 0; });
  if (x == kNone)
    return kNone;
  Dims shape = build.shape(x);
  std::vector<int64_t> offsets(shape.size(), 0);
  for (int64_t count = 1 + below(2); count != 0; --count) {
    int64_t axis = below(static_cast<int64_t>(shape.size())), low = below(4);
    offsets[axis] += low;
    shape[axis] += low + below(4);
  }
  return build.pad(x, offsets, shape);
}

int Decoder::concat() {
  int x = pick([&](int x) { return build.rank(x) > 0; });
  if (x == kNone)
    return kNone;
  int64_t axis = below(build.rank(x));
  auto suits = [&](int y) {
    if (build.dtype(y) != build.dtype(x) || build.rank(y) != build.rank(x))
      return false;
    Dims shape = build.shape(y);
    shape[axis] = build.shape(x)[axis];
    return shape == build.shape(x);
  };
  std::vector<int> parts = {x};
  for (int64_t count = 1 + below(2); count != 0; --count)
    parts.push_back(pick(suits));
  std::rotate(parts.begin(), parts.begin() + below(static_cast<int64_t>(parts.size())), parts.end());
  return build.concat(axis, parts);
}

int Decoder::matmul() {
  int x = pickFloat(2);
  uint8_t flags = nextByte() & (kTransposeA | kTransposeB), how = nextByte();
  if (x == kNone)
    return kNone;
  DType dtype = build.dtype(x);
  Dims from = build.shape(x);
  int64_t depth = from.end()[flags & kTransposeA ? -2 : -1];
  auto suits = [&](int y) {
    const Dims &shape = build.shape(y);
    return build.dtype(y) == dtype && shape.size() >= 2 && shape.end()[flags & kTransposeB ? -1 : -2] == depth &&
           (shape.size() == 2 ||
            (shape.size() == from.size() && std::equal(shape.begin(), shape.end() - 2, from.begin())));
  };
  int y = how & 1 ? pick(suits) : kNone;
  if (y == kNone) {
    int64_t columns = size();
    Dims shape(from.begin(), from.end() - (how & 2 ? 2 : static_cast<int64_t>(from.size())));
    shape.push_back(flags & kTransposeB ? columns : depth);
    shape.push_back(flags & kTransposeB ? depth : columns);
    y = addWeight(dtype, shape);
  }
  int plain = build.matmul(x, y, flags);
  if (plain == kNone || how < 128)
    return plain;
  // Adds a matmul with an epilogue.
  int addend = how & 4 ? like(plain) : kNone;
  int bias = how & 8 ? addWeight(dtype, {build.shape(plain).back()}) : kNone;
  return build.matmul(x, y, flags | (how & 16 ? kReluEpilogue : 0), addend, bias);
}

int Decoder::linear() {
  int x = pickFloat(1);
  return x == kNone ? kNone : build.linear(x, addWeight(build.dtype(x), {size(), build.shape(x).back()}));
}

int Decoder::indices() {
  DType dtype = intType();
  uint8_t kind = nextByte();
  int64_t bound = 1 + below(9);
  Dims shape = chooseShape(0, 3);
  return kind & 1 ? build.indices(dtype, shape, bound, /*isDeclared=*/false) : build.table(dtype, shape, bound);
}

int Decoder::embedding() {
  int table = pick([&](int x) { return runtime::IsFloat(build.dtype(x)) && build.rank(x) == 2; });
  uint8_t kind = nextByte();
  if (table == kNone) {
    DType dtype = floatType();
    table = addWeight(dtype, {size(), size()});
  }
  if (table == kNone)
    return kNone;
  int64_t rows = build.shape(table)[0];
  int ids = pick([&](int x) { return !runtime::IsFloat(build.dtype(x)) && build.dtype(x) != DType::kI1; });
  if (kind < 96 || ids == kNone) {
    DType dtype = intType();
    ids = build.indices(dtype, chooseShape(0, 2), rows, /*isDeclared=*/kind & 1);
  } else if (kind < 208) {
    // Clamped, so that they are known to be in bounds.
    ids = build.withNumber(Op::kMax, ids, 0);
    ids = build.withNumber(Op::kMin, ids, static_cast<double>(rows - 1));
  }
  return build.embedding(table, ids);
}

int Decoder::norm() {
  int x = pickFloat(1);
  bool isCentred = flip();
  if (x == kNone)
    return kNone;
  DType dtype = build.dtype(x);
  Dims row = {build.shape(x).back()};
  int weight = addWeight(dtype, row);
  return isCentred ? build.layerNorm(x, weight, addWeight(dtype, row)) : build.rmsNorm(x, weight);
}

int Decoder::rope() {
  int x = pickFloat(2);
  return build.rope(x, flip() ? 10000 : 100);
}

int Decoder::crossEntropy() {
  int logits = pickFloat(1);
  if (logits == kNone)
    return kNone;
  const Dims &shape = build.shape(logits);
  DType dtype = intType();
  return build.crossEntropy(logits, build.indices(dtype, Dims(shape.begin(), shape.end() - 1), shape.back(), flip()));
}

int Decoder::output() {
  int x = pick([](int) { return true; });
  if (x != kNone && outputs.size() < 4)
    outputs.push_back(x);
  return x;
}

} // namespace cs336::fuzz
