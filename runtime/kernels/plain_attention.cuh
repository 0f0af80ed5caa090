//===- plain_attention.cuh - Attention one key at a time --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Attention for sizes and types without tile sizes. `Elements` has the stored type Type, the type of the arithmetic
// Compute (float or double), and `load` and `store`, which convert between them.

/// One vector of a head in the registers of a warp: lane l holds features l, l + 32, ….
template <class Problem, class Elements>
struct HeadVector {
  using Type = typename Elements::Type;
  using Compute = typename Elements::Compute;
  static constexpr int perLane = (Problem::headDim + 31) / 32;
  Compute values[perLane];

  __device__ static HeadVector load(const Type *from) {
    HeadVector vector = {};
    vector.forEach([&](Compute &value, int feature) { value = Elements::load(from[feature]); });
    return vector;
  }
  /// Stores the vector times `factor`. Stores nothing if `to` is null.
  __device__ void store(Type *to, Compute factor) {
    if (to)
      forEach([&](Compute &value, int feature) { to[feature] = Elements::store(value * factor); });
  }

  /// Returns the dot product, in every lane.
  __device__ Compute multiply(const HeadVector &other) const {
    Compute sum = 0;
#pragma unroll
    for (int i = 0; i < perLane; ++i)
      sum += values[i] * other.values[i];
    return reduceWarp(sum, [](Compute a, Compute b) { return a + b; });
  }
  __device__ void add(Compute factor, const HeadVector &other) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
      values[i] += factor * other.values[i];
  }
  __device__ void scale(Compute factor) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
      values[i] *= factor;
  }

private:
  /// Calls `function` for the lane's features. Values beyond the last feature stay zero.
  template <class Function>
  __device__ void forEach(Function function) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
      if (const int feature = i * 32 + threadIdx.x % 32; feature < Problem::headDim)
        function(values[i], feature);
  }
};

/// The row that a warp computes: each batch has `heads` heads of `perHead` rows. A block has `warps` warps.
template <int perHead, int heads, int warps>
struct WarpRow {
  int position, head, batch;

  __device__ static WarpRow find() {
    const int row = blockIdx.x * warps + threadIdx.x / 32;
    return {row % perHead, row / perHead % heads, row / perHead / heads};
  }
};

template <int rows, int warps>
struct PlainGrid {
  static constexpr int threads = 32 * warps, blocks = countTiles(rows, warps);
};

/// Returns the score of a pair from its q · k, and the derivative with respect to the scaled q · k in `derivative`.
template <class Problem, class Compute>
__device__ inline Compute computeScore(const ScoreOf<Problem> &function, Compute dot, int batch, int head, int query,
                                       int key, Compute &derivative) {
  using Score = ScoreOf<Problem>;
  derivative = 1;
  const Compute scaled = Problem::scale * dot;
  if constexpr (!Score::exists)
    return scaled;
  else if constexpr (Score::returnsDerivative)
    return function.compute(scaled, batch, head, query, key, derivative);
  else
    return function.compute(scaled, batch, head, query, key);
}

/// A warp computes the output of a query, by online softmax over the keys that it sees.
template <class Problem, class Elements, int warps>
struct PlainAttentionForward : PlainGrid<Problem::batches * Problem::queryHeads * Problem::queries, warps> {
  using Vector = HeadVector<Problem, Elements>;
  using Type = typename Elements::Type;
  using Compute = typename Elements::Compute;

  __device__ static void run(const Type *queries, const Type *keys, const Type *values, Type *output,
                             Compute *logSumExp, const ScoreOf<Problem> &function = {}) {
    const auto [query, head, batch] = WarpRow<Problem::queries, Problem::queryHeads, warps>::find();
    if (batch >= Problem::batches)
      return;
    const int keyHead = head / (Problem::queryHeads / Problem::keyHeads);
    const int begin = VisiblePairs<Problem>::getFirstKey(query), end = VisiblePairs<Problem>::getEndKey(query + 1);
    const Vector left = Vector::load(Problem::QueryLayout::getVectors(queries, batch, head, query));
    Vector result = {};
    Compute largest = -infinity(), sum = 0, derivative;
    for (int key = begin; key < end; ++key) {
      const Compute score = computeScore<Problem>(
          function, left.multiply(Vector::load(Problem::KeyLayout::getVectors(keys, batch, keyHead, key))), batch, head,
          query, key, derivative);
      const Compute before = largest;
      largest = maximum(before, score);
      const Compute shift = shiftBy<Problem>(largest), shrink = exp(before - shift), power = exp(score - shift);
      sum = sum * shrink + power;
      result.scale(shrink);
      result.add(power, Vector::load(Problem::ValueLayout::getVectors(values, batch, keyHead, key)));
    }
    result.store(Problem::OutputLayout::getVectors(output, batch, head, query), invertSum<Problem>(sum));
    if (logSumExp && threadIdx.x % 32 == 0)
      *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query) = largest + log(sum);
  }
};

/// The values that the gradient computes per query and key: the probability P, and dS = P ∘ (dO · Vᵀ − D).
template <class Problem, class Elements>
struct PlainAttentionPair {
  using Vector = HeadVector<Problem, Elements>;
  using Compute = typename Elements::Compute;
  Compute probability, scoreGradient;

  /// `score` is a score and its derivative.
  __device__ static PlainAttentionPair compute(Compute score, Compute derivative, const Vector &value,
                                               const Vector &outputGradient, Compute rowSum, Compute logSumExp) {
    const Compute probability = exp(score - shiftBy<Problem>(logSumExp));
    return {probability, derivative * probability * (outputGradient.multiply(value) - rowSum)};
  }
};

/// A warp computes dQ of a query.
template <class Problem, class Elements, int warps>
struct PlainAttentionBackwardQueries : PlainGrid<Problem::batches * Problem::queryHeads * Problem::queries, warps> {
  using Vector = HeadVector<Problem, Elements>;
  using Type = typename Elements::Type;
  using Compute = typename Elements::Compute;

  __device__ static void run(const Type *queries, const Type *keys, const Type *values, const Type *output,
                             const Compute *logSumExp, const Type *outputGradient, Type *queryGradient,
                             const ScoreOf<Problem> &function = {}) {
    const auto [query, head, batch] = WarpRow<Problem::queries, Problem::queryHeads, warps>::find();
    if (batch >= Problem::batches || !queryGradient)
      return;
    const int keyHead = head / (Problem::queryHeads / Problem::keyHeads);
    const int begin = VisiblePairs<Problem>::getFirstKey(query), end = VisiblePairs<Problem>::getEndKey(query + 1);
    const Vector left = Vector::load(Problem::QueryLayout::getVectors(queries, batch, head, query));
    const Vector gradient = Vector::load(Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, query));
    const Compute logSum = *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query);
    auto computePair = [&, query = query, head = head, batch = batch](int key, const Vector &right, Compute rowSum,
                                                                      bool hasDerivative) {
      const Vector value = Vector::load(Problem::ValueLayout::getVectors(values, batch, keyHead, key));
      Compute derivative;
      const Compute score = computeScore<Problem>(function, left.multiply(right), batch, head, query, key, derivative);
      return PlainAttentionPair<Problem, Elements>::compute(score, hasDerivative ? derivative : 1, value, gradient,
                                                            rowSum, logSum)
          .scoreGradient;
    };
    // With D from a rounded output, rows of dS would not sum to zero, and dQ would add up what the keys have in common.
    Compute rowSum = 0;
    if constexpr (sizeof(Type) < sizeof(Compute)) {
      for (int key = begin; key < end; ++key)
        rowSum += computePair(key, Vector::load(Problem::KeyLayout::getVectors(keys, batch, keyHead, key)), 0, false);
    } else {
      rowSum = gradient.multiply(Vector::load(Problem::OutputLayout::getVectors(output, batch, head, query)));
    }
    Vector result = {};
    for (int key = begin; key < end; ++key) {
      const Vector right = Vector::load(Problem::KeyLayout::getVectors(keys, batch, keyHead, key));
      result.add(computePair(key, right, rowSum, true), right);
    }
    result.store(Problem::QueryGradientLayout::getVectors(queryGradient, batch, head, query), Problem::scale);
  }
};

/// A warp computes dK and dV of one key of a key head, summed over all query heads that share it.
template <class Problem, class Elements, int warps>
struct PlainAttentionBackwardKeys : PlainGrid<Problem::batches * Problem::keyHeads * Problem::keys, warps> {
  using Vector = HeadVector<Problem, Elements>;
  using Type = typename Elements::Type;
  using Compute = typename Elements::Compute;

  __device__ static void run(const Type *queries, const Type *keys, const Type *values, const Type *output,
                             const Compute *logSumExp, const Type *outputGradient, Type *keyGradient,
                             Type *valueGradient, const ScoreOf<Problem> &function = {}) {
    const auto [key, keyHead, batch] = WarpRow<Problem::keys, Problem::keyHeads, warps>::find();
    if (batch >= Problem::batches)
      return;
    constexpr int group = Problem::queryHeads / Problem::keyHeads;
    const Vector right = Vector::load(Problem::KeyLayout::getVectors(keys, batch, keyHead, key));
    const Vector value = Vector::load(Problem::ValueLayout::getVectors(values, batch, keyHead, key));
    Vector keyResult = {}, valueResult = {};
    for (int head = keyHead * group; head < (keyHead + 1) * group; ++head)
      for (int query = VisiblePairs<Problem>::getFirstQuery(key), end = VisiblePairs<Problem>::getEndQuery(key + 1);
           query < end; ++query) {
        const Vector left = Vector::load(Problem::QueryLayout::getVectors(queries, batch, head, query));
        const Vector gradient =
            Vector::load(Problem::OutputGradientLayout::getVectors(outputGradient, batch, head, query));
        const Compute rowSum =
            gradient.multiply(Vector::load(Problem::OutputLayout::getVectors(output, batch, head, query)));
        Compute derivative;
        const Compute score =
            computeScore<Problem>(function, left.multiply(right), batch, head, query, key, derivative);
        const auto pair = PlainAttentionPair<Problem, Elements>::compute(
            score, derivative, value, gradient, rowSum,
            *Problem::LogSumExpLayout::getVectors(logSumExp, batch, head, query));
        keyResult.add(pair.scoreGradient, left);
        valueResult.add(pair.probability, gradient);
      }
    if (keyGradient)
      keyResult.store(Problem::KeyGradientLayout::getVectors(keyGradient, batch, keyHead, key), Problem::scale);
    if (valueGradient)
      valueResult.store(Problem::ValueGradientLayout::getVectors(valueGradient, batch, keyHead, key), 1);
  }
};
