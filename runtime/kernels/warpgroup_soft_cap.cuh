//===- warpgroup_soft_cap.cuh - Softmax of capped scores --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A soft cap replaces a scaled score s by c · tanh(s / c), which is between −c and c. Therefore the softmax needs no
// largest score of every tile: a reference from the first tile is never far below the largest score. Only bf16 has the
// range of numerators that this takes.

/// tanh x as x · (c₀ + c₁ · x² + …) for |x| ≤ `limit`, with a relative error of at most 1.5e-4.
template <int terms>
struct TanhPolynomial;
template <>
struct TanhPolynomial<2> {
  static constexpr float limit = 0.31f, coefficients[] = {0.99985237f, -0.32095234f};
};
template <>
struct TanhPolynomial<3> {
  static constexpr float limit = 0.7f, coefficients[] = {0.99985217f, -0.32779044f, 0.10110499f};
};

/// WarpgroupSoftmax for scores with a soft cap.
template <class Problem>
class CappedSoftmax : public SoftmaxSums {
  using Score = ScoreOf<Problem>;
  /// In exponents of two, a score is `cap` · tanh(`slope` · q · k).
  static constexpr float cap = Score::softCap * log2OfE, slope = static_cast<float>(Problem::scale) * Score::capSlope;
  /// Numerators are at most 2^`mostExponent`. The largest one of a row is at least 2^(mostExponent − 2 · cap).
  static constexpr float mostExponent = 64, leastExponent = -90;
  static_assert(slope > 0 && cap > 0 && mostExponent - 2 * cap >= leastExponent);
  /// The largest square of q · k for a polynomial with so many terms.
  template <int terms>
  static constexpr float limit = (TanhPolynomial<terms>::limit / slope) * (TanhPolynomial<terms>::limit / slope);

public:
  /// Learns from each q · k of a tile, hidden or not, which polynomial can be used.
  template <int size>
  __device__ void inspect(const float (&scores)[size]) {
    // A sum of squares is at least the largest one. A multiply-add takes half as long as a maximum.
    constexpr int sums = 8;
    static_assert(size % sums == 0);
    float squares[sums] = {};
#pragma unroll
    for (int i = 0; i < size; ++i)
      squares[i % sums] = fmaf(scores[i], scores[i], squares[i % sums]);
    largestSquare = squares[0];
#pragma unroll
    for (int i = 1; i < sums; ++i)
      largestSquare = maximum(largestSquare, squares[i]);
  }

  /// Replaces each q · k of a tile by its numerator. Unless the tile `isInterior`, pairs may be hidden: they are −∞.
  /// Starts anew if `isFirst`.
  template <bool isFirst, int size>
  __device__ void exponentiate(float (&scores)[size], bool isInterior, const TileBias<Problem> & = {}) {
    if constexpr (isFirst)
      start(scores);
    // Three terms make the exponent of a hidden pair −∞, and two would make it ∞.
    if (isInterior && __builtin_expect(areSmall && largestSquare <= limit<2>, true))
      exponentiateByPolynomial<2>(scores);
    else if (largestSquare <= limit<3>)
      exponentiateByPolynomial<3>(scores);
    else
      exponentiateByTanh(scores);
    // If threads take different branches, a warp takes the time of all of them. Therefore it agrees on one polynomial.
    areSmall &= __all_sync(0xffffffffu, largestSquare <= limit<2>);
  }

  /// References stay what they are.
  template <int size>
  __device__ void rescale(float (&)[size]) const {}

private:
  /// Replaces each q · k, whose square is at most `limit`<terms>, by its numerator. With three terms, pairs may be
  /// hidden.
  template <int terms, int size>
  __device__ void exponentiateByPolynomial(float (&scores)[size]) {
    static_assert(terms == 2 || getCoefficient<terms, terms - 1>() >= 0x1p-126f,
                  "hidden pairs multiply it by infinity");
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float squared = scores[i] * scores[i];
      float tangent = getCoefficient<terms, terms - 1>();
      if constexpr (terms == 3)
        tangent = fmaf(tangent, squared, getCoefficient<terms, 1>());
      tangent = fmaf(tangent, squared, getCoefficient<terms, 0>());
      addNumerator(scores[i], fmaf(tangent, scores[i], -references[i / 2 % 2]), i);
    }
  }
  /// Returns the coefficient of power 2 · term + 1 of q · k in `cap` · tanh(`slope` · q · k).
  template <int terms, int term>
  __device__ static constexpr float getCoefficient() {
    float factor = cap * slope;
    for (int i = 0; i < term; ++i)
      factor *= slope * slope;
    return factor * TanhPolynomial<terms>::coefficients[term];
  }
  template <int size>
  __device__ void exponentiateByTanh(float (&scores)[size]) {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float exponent = fmaf(approximateTanh(slope * scores[i]), cap, -references[i / 2 % 2]);
      // −∞ makes the exponent −∞. A score up to 2^100 changes it by less than its rounding.
      addNumerator(scores[i], fmaf(scores[i], 0x1p-126f, exponent), i);
    }
  }
  /// Writes the numerator with this exponent to score number `i` of a tile, and adds it to its row.
  __device__ void addNumerator(float &score, float exponent, int i) {
    score = exp2Approximate(exponent);
    sums[i / 2 % 2] += score;
  }

  /// Sets the reference of each row to its largest score in this tile, or to a larger number if numerators of other
  /// tiles could become too large.
  template <int size>
  __device__ void start(const float (&scores)[size]) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float largest = reduceWarp<4>(findLargest(scores, row), [](float a, float b) { return fmaxf(a, b); });
      references[row] = fmaxf(cap * approximateTanh(slope * largest), cap - mostExponent);
      sums[row] = 0;
    }
    areSmall = true;
  }

  /// At least the square of each q · k in the last tile that was inspected, or NaN if one is.
  float largestSquare;
  /// True if two terms suffice for each q · k so far, in all threads of the warp.
  bool areSmall;
};

template <class Problem, bool isCapped = hasSoftCap<Problem>>
struct SelectSoftmax {
  using Type = WarpgroupSoftmax<Problem>;
};
template <class Problem>
struct SelectSoftmax<Problem, true> {
  using Type = CappedSoftmax<Problem>;
};
