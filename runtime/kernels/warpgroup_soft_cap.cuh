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
  /// The largest |q · k| for a polynomial with so many terms.
  template <int terms>
  static constexpr float limit = TanhPolynomial<terms>::limit / slope;

public:
  /// Replaces each q · k of a tile by its numerator. Hidden pairs are −∞. Starts anew if `isFirst`.
  template <bool isFirst, int size>
  __device__ void exponentiate(float (&scores)[size], const TileBias<Problem> & = {}) {
    if constexpr (isFirst)
      start(scores);
    // A mask often cuts the first tile. Three terms make the exponent of a hidden pair −∞, and two would make it ∞.
    float largest = 0;
#pragma unroll
    for (int i = 0; i < size; ++i)
      largest = fmaxf(largest, isFirst && scores[i] == -infinity() ? 0 : fabsf(scores[i]));
    if (!isFirst && __builtin_expect(areSmall && largest <= limit<2>, true))
      exponentiateByPolynomial<2>(scores);
    else if (largest <= limit<3>)
      exponentiateByPolynomial<3>(scores);
    else
      exponentiateByTanh(scores);
    // If threads take different branches, a warp takes the time of all of them. Therefore it agrees on one polynomial.
    areSmall &= __all_sync(0xffffffffu, largest <= limit<2> || largest == infinity());
  }

  /// References stay what they are.
  template <int size>
  __device__ void rescale(float (&)[size]) const {}

private:
  /// Replaces each q · k, at most `limit`<terms>, by its numerator. With three terms, pairs may be hidden.
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

  /// True if two terms suffice for all scores so far, except for hidden ones, in all threads of the warp.
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
