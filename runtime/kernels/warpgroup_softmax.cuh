//===- warpgroup_softmax.cuh - Softmax, tile by tile ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// All threads of a computing warpgroup call these functions together. A thread has parts of two rows, r and r + 8; the
// four threads with the same lane / 4 have the other parts. Scores are in wgmma.cuh's order, before the scale.

/// The numbers of a thread's two rows, in units of the exponent of two: a reference r, and the thread's part of
/// Σ 2^(s − r) over the scores s.
class SoftmaxSums {
public:
  /// Returns the sum of the numerators of the thread's first or second row, over all tiles.
  __device__ float sumRow(int row) const { return sumOfRow(sums[row]); }
  /// Returns the natural logarithm of the sum of e^score, given the row's `sum`.
  __device__ float getLogSumExp(int row, float sum) const { return (references[row] + log2f(sum)) / log2OfE; }

protected:
  float references[2], sums[2];
};

/// Returns the largest score that the thread has of its first or second row.
template <int size>
__device__ inline float findLargest(const float (&scores)[size], int row) {
  float largest = scores[2 * row];
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (i / 2 % 2 == row)
      largest = fmaxf(largest, scores[i]);
  return largest;
}

/// The softmax of a warpgroup's 64 rows of scores, whose tiles come one after the other. For the scores s of a row, in
/// exponents of two: the largest score m so far, Σ 2^(s − m), and the numerators 2^(s − m). The numerator of the
/// largest score is exactly 1. Others of much weight are just below 1, where numbers of 16 bits have the smallest
/// relative error.
template <class Problem>
class WarpgroupSoftmax : public SoftmaxSums {
  static constexpr float scale = scaleOfTiles<Problem>;
  /// The m of a row that has seen no score, below any score, and finite so that differences are numbers.
  static constexpr float lowestReference = -1e30f;

public:
  /// Each q · k of a tile, before some are hidden.
  template <int size>
  __device__ void inspect(const float (&)[size]) const {}

  /// Replaces each score of a tile, for which the thread's rows have this bias, by its numerator. Starts anew if
  /// `isFirst`.
  template <bool isFirst, int size>
  __device__ void exponentiate(float (&scores)[size], bool /*isInterior*/, const TileBias<Problem> &bias = {}) {
    needsRescaling = false;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float largest = findLargest(scores, row);
      auto larger = [](float a, float b) { return fmaxf(a, b); };
      // The threads of a row have different biases.
      if constexpr (hasLinearBias<Problem>)
        largest = reduceWarp<4>(bias.addTo(scale * largest, row), larger);
      else
        largest = scale * reduceWarp<4>(largest, larger);
      if constexpr (isFirst) {
        // The last tile may be masked for a row. With a score function, the row may see nothing.
        references[row] = largest == -infinity() && !ScoreOf<Problem>::exists ? lowestReference : largest;
        sums[row] = 0;
      } else {
        const float reference = fmaxf(references[row], largest);
        needsRescaling |= reference != references[row];
        growth[row] = exp2Approximate(references[row] - shiftBy<Problem>(reference));
        references[row] = reference;
        sums[row] *= growth[row];
      }
    }
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const int row = i / 2 % 2;
      scores[i] = exp2Approximate(fmaf(scores[i], scale, bias.addTo(-shiftBy<Problem>(references[row]), row)));
      sums[row] += scores[i];
    }
  }

  /// Multiplies the rows of the output so far by what the last tile changed their references by.
  template <int size>
  __device__ void rescale(float (&result)[size]) const {
    if (__any_sync(0xffffffffu, needsRescaling))
#pragma unroll
      for (int i = 0; i < size; ++i)
        result[i] *= growth[i / 2 % 2];
  }

private:
  /// The factor of the last rescaling.
  float growth[2];
  bool needsRescaling;
};
