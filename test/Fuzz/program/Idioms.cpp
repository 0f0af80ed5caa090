//===- Idioms.cpp - Chains that passes recognise --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each idiom has variations that passes should recognise, and others that they must not: a maximum over another axis, a
// mask that hides other keys, an intermediate value that is used again.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include <algorithm>

namespace cs336::fuzz {

int Decoder::spelledSoftmax(int x) {
  if (x == kNone || build.rank(x) == 0)
    return kNone;
  int64_t last = build.rank(x) - 1;
  uint8_t how = nextByte();
  int largest = build.reduce(Op::kReduceMax, x, {last}, how & 1 ? kStopGradient : 0);
  int shifted = how % 32 == 31 ? x : build.binary(Op::kSub, x, build.alongRows(largest, x));
  int powers = build.unary(Op::kExp, shifted);
  int sum = build.reduce(Op::kReduceSum, powers, {last});
  if (how & 2 && powers != kNone)
    pool.push_back(powers);
  if (how & 4) { // By a reciprocal, or by the logarithm of the sum.
    int logarithm = build.unary(Op::kLog, sum);
    return build.unary(Op::kExp, build.binary(Op::kSub, shifted, build.alongRows(logarithm, x)));
  }
  return build.binary(Op::kDiv, powers, build.alongRows(sum, x));
}

int Decoder::causalMask(int64_t queries, int64_t keys) {
  DType dtype = intType();
  uint8_t how = nextByte();
  int rows = build.iota(dtype, {queries, keys}, 0), columns = build.iota(dtype, {queries, keys}, 1);
  switch (how % 8) {
  case 0:
    return build.compare(kLE, columns, rows);
  case 1:
    return build.compare(kGT, rows, columns); // Masks the key of the query's own position.
  case 2:
    return build.compare(kGE, build.withNumber(Op::kAdd, rows, static_cast<double>(keys - queries)), columns);
  case 3:
    return build.compare(kLE, rows, columns); // Masks keys from this one on.
  case 4:
    return build.table(DType::kI1, {queries, keys}, /*bound=*/2);
  case 5:
    return build.constant(DType::kI1, {queries, keys}, 1);
  default:
    return build.compare(kGE, rows, columns);
  }
}

int Decoder::mask(int scores) {
  if (scores == kNone || build.rank(scores) < 2)
    return scores;
  TensorType type = build.type(scores);
  int visible = causalMask(type.shape.end()[-2], type.shape.end()[-1]);
  uint8_t how = nextByte();
  std::vector<int64_t> dims = {build.rank(scores) - 2, build.rank(scores) - 1};
  double hidden = how & 1 ? -1e9 : -INFINITY;
  if (how & 2) { // An additive mask.
    Dims square(type.shape.end() - 2, type.shape.end());
    int added =
        build.select(visible, build.constant(type.dtype, square, 0), build.constant(type.dtype, square, hidden));
    return build.binary(Op::kAdd, scores, build.broadcast(added, dims, type.shape));
  }
  return build.select(build.broadcast(visible, dims, type.shape), scores,
                      build.constant(type.dtype, type.shape, hidden));
}

int Decoder::softmax() {
  uint8_t how = nextByte();
  int x = pickFloat(1);
  if (x == kNone)
    return kNone;
  constexpr double kScales[] = {1, 0.125, 0.25, -0.5};
  double scale = kScales[how >> 4 & 3];
  if (how & 1)
    return spelledSoftmax(how & 2 ? mask(how & 4 ? build.withNumber(Op::kMul, x, scale) : x) : x);
  int mask = kNone;
  if (how & 2 && build.rank(x) >= 2)
    mask = causalMask(build.shape(x).end()[-2], build.shape(x).end()[-1]);
  else if (how & 4)
    mask = pick([&](int p) {
      const Dims &from = build.shape(p), &shape = build.shape(x);
      return build.dtype(p) == DType::kI1 && from.size() <= shape.size() && !from.empty() &&
             std::equal(from.begin(), from.end(), shape.end() - from.size());
    });
  return build.softmax(x, mask, scale);
}

int Decoder::spelledNorm() {
  int x = pickFloat(1);
  uint8_t how = nextByte();
  if (x == kNone)
    return kNone;
  int64_t last = build.rank(x) - 1;
  double count = static_cast<double>(build.shape(x).back());
  if (how & 1) {
    int mean = build.withNumber(Op::kMul, build.reduce(Op::kReduceSum, x, {last}), 1 / count);
    x = build.binary(Op::kSub, x, build.alongRows(mean, x));
  }
  int squares = build.reduce(Op::kReduceSum, build.binary(Op::kMul, x, x), {last});
  int mean = build.withNumber(how & 2 ? Op::kDiv : Op::kMul, squares, how & 2 ? count : 1 / count);
  int r = build.withNumber(Op::kAdd, mean, 1e-5);
  int result = how & 4 ? build.binary(Op::kDiv, x, build.alongRows(build.unary(Op::kSqrt, r), x))
                       : build.binary(Op::kMul, x, build.alongRows(build.unary(Op::kRsqrt, r), x));
  return how & 8 ? build.binary(Op::kMul, result, like(result)) : result;
}

int Decoder::splitHeads(int64_t batch, int64_t length, int64_t heads, int64_t dim, bool isProjected) {
  DType dtype = types[0];
  if (!isProjected)
    return addWeight(dtype, {batch, length, heads, dim});
  int x = pick([&](int x) {
    const Dims &shape = build.shape(x);
    return build.dtype(x) == dtype && shape.size() == 3 && shape[0] == batch && shape[1] == length;
  });
  if (x == kNone)
    x = addWeight(dtype, {batch, length, heads * dim});
  if (x == kNone)
    return kNone;
  int projected = build.linear(x, addWeight(dtype, {heads * dim, build.shape(x).back()}));
  return build.reshape(projected, {batch, length, heads, dim});
}

int Decoder::attention() {
  // Some rows of heads end within a vector.
  constexpr int64_t kLengths[] = {3, 1, 5, 8, 17, 33, 65, 40}, kDims[] = {8, 16, 24, 8, 5, 16, 32, 4};
  uint8_t sizes = nextByte(), more = nextByte(), how = nextByte(), steps = nextByte();
  int64_t batch = 1 + (more & 1), queries = kLengths[sizes & 7], dim = kDims[sizes >> 3 & 7];
  int64_t keys = more & 2 ? kLengths[more >> 5 & 7] : queries;
  int64_t keyHeads = 1 + (sizes >> 6 & 1), group = sizes >> 7 ? 2 : 1, heads = keyHeads * group;
  bool isProjected = how & 1;
  int q = splitHeads(batch, queries, heads, dim, isProjected), k = splitHeads(batch, keys, keyHeads, dim, isProjected),
      v = splitHeads(batch, keys, keyHeads, dim, isProjected);
  double scale = how & 2 ? 0.5 : 1 / std::sqrt(static_cast<double>(dim));
  if (steps % 4 == 1 && how & 128)
    return build.attention(q, k, v, scale, /*isCausal=*/how & 4);

  std::vector<int64_t> byHead = {0, 2, 1, 3};
  q = build.transpose(q, byHead);
  k = build.transpose(k, byHead);
  v = build.transpose(v, byHead);
  if (how & 8 && dim % 2 == 0) {
    q = build.rope(q, 10000);
    k = build.rope(k, 10000);
  }
  if (group > 1) { // Repeats each key head for its group.
    auto repeat = [&](int x) {
      int wide = build.broadcast(x, {0, 1, 3, 4}, {batch, keyHeads, group, keys, dim});
      return build.reshape(wide, {batch, heads, keys, dim});
    };
    k = repeat(k);
    v = repeat(v);
  }
  if (how & 16)
    q = build.withNumber(Op::kMul, q, scale);
  int scores = how & 32 ? build.matmul(q, build.transpose(k, {0, 1, 3, 2})) : build.matmul(q, k, kTransposeB);
  if (!(how & 16))
    scores = build.withNumber(steps & 2 ? Op::kDiv : Op::kMul, scores, steps & 2 ? 1 / scale : scale);
  int visible = kNone;
  if (how & 4 && steps & 32)
    visible = causalMask(queries, keys);
  else if (how & 4)
    scores = mask(scores);
  if (steps & 4 && scores != kNone)
    pool.push_back(scores);
  int weights = steps & 8 || visible != kNone ? build.softmax(scores, visible, 1) : spelledSoftmax(scores);
  if (steps % 64 == 63)
    weights = build.unary(Op::kSin, weights); // In the position of dropout.
  int output = build.transpose(build.matmul(weights, v), byHead);
  return steps & 16 ? output : build.reshape(output, {batch, queries, heads * dim});
}

int Decoder::feedForward() {
  int x = pickFloat(2);
  uint8_t how = nextByte();
  if (x == kNone)
    return kNone;
  DType dtype = build.dtype(x);
  int64_t width = build.shape(x).back(), inner = size();
  int w1 = addWeight(dtype, {inner, width}), w3 = how & 1 ? addWeight(dtype, {inner, width}) : kNone;
  constexpr Op kActivations[] = {Op::kSilu, Op::kRelu, Op::kGelu, Op::kGeluTanh};
  int hidden = build.unary(kActivations[how >> 2 & 3], build.linear(x, w1));
  if (how & 1)
    hidden = build.binary(Op::kMul, hidden, build.linear(x, w3));
  int result = build.linear(hidden, addWeight(dtype, {width, inner}));
  return how & 2 ? build.binary(Op::kAdd, x, result) : result;
}

int Decoder::sharedInput() {
  int x = pickFloat(2);
  uint8_t how = nextByte();
  if (x == kNone)
    return kNone;
  DType dtype = build.dtype(x);
  int64_t width = build.shape(x).back();
  int last = kNone;
  for (int64_t count = 2 + (how & 1); count != 0; --count) {
    int64_t rows = how & 2 ? 4 : size();
    // Matmuls with either operand transposed, or as linears.
    last =
        how & 4 ? build.matmul(x, addWeight(dtype, {width, rows})) : build.linear(x, addWeight(dtype, {rows, width}));
    if (last != kNone && count != 1)
      pool.push_back(last);
  }
  return last;
}

} // namespace cs336::fuzz
