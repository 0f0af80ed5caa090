//===- warpgroup_soft_cap.cuh - Softmax of capped scores --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A soft cap replaces a scaled score s by c · tanh(s / c), which is between −c and c. Therefore the softmax needs no
// largest score of every tile: a reference from the first tile is never far below the largest score. Only bf16 has the
// range of numerators that this takes.

/// WarpgroupSoftmax for scores with a soft cap.
template <class Problem>
class CappedSoftmax : public SoftmaxSums {
  using Score = ScoreOf<Problem>;
  /// In exponents of two, a score is `cap` · tanh(`slope` · q · k).
  static constexpr float cap = Score::softCap * log2OfE, slope = static_cast<float>(Problem::scale) * Score::capSlope;
  /// Numerators are at most 2^`mostExponent`. The largest one of a row is at least 2^(mostExponent − 2 · cap).
  static constexpr float mostExponent = 64, leastExponent = -90;
  static_assert(slope > 0 && cap > 0 && mostExponent - 2 * cap >= leastExponent);
  /// Up to this argument, tanh x is x · (c₀ + c₁ · x² + c₂ · x⁴) with a relative error of at most 1.5e-4.
  static constexpr float largestArgument = 0.7f;
  /// cap · slope times these coefficients, in powers of q · k.
  static constexpr float factor = cap * slope, square = slope * slope;
  static constexpr float coefficients[] = {0.99985217f * factor, -0.32779044f * square * factor,
                                           0.10110499f * square * square * factor};

public:
  /// Replaces each q · k of a tile by its numerator. Hidden pairs are −∞. Starts anew if `isFirst`.
  template <bool isFirst, int size>
  __device__ void exponentiate(float (&scores)[size], const TileBias<Problem> & = {}) {
    if constexpr (isFirst)
      start(scores);
    const float shifts[2] = {-references[0], -references[1]};
    float largest = 0;
#pragma unroll
    for (int i = 0; i < size; ++i)
      largest = fmaxf(largest, fabsf(scores[i]));
    // A function value takes as long as eight operations, and the exponential is one already.
    if (__builtin_expect(largest <= largestArgument / slope, true)) {
#pragma unroll
      for (int i = 0; i < size; ++i) {
        const float squared = scores[i] * scores[i];
        const float tangent = fmaf(fmaf(coefficients[2], squared, coefficients[1]), squared, coefficients[0]);
        scores[i] = exp2Approximate(fmaf(tangent, scores[i], shifts[i / 2 % 2]));
        sums[i / 2 % 2] += scores[i];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const float exponent = fmaf(approximateTanh(slope * scores[i]), cap, shifts[i / 2 % 2]);
      scores[i] = scores[i] == -infinity() ? 0 : exp2Approximate(exponent);
      sums[i / 2 % 2] += scores[i];
    }
  }

  /// References stay what they are.
  template <int size>
  __device__ void rescale(float (&)[size]) const {}

private:
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
  }
};

template <class Problem, bool isCapped = hasSoftCap<Problem>>
struct SelectSoftmax {
  using Type = WarpgroupSoftmax<Problem>;
};
template <class Problem>
struct SelectSoftmax<Problem, true> {
  using Type = CappedSoftmax<Problem>;
};
