//===- warpgroup_slopes.cuh - P and dS in two passes ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// P = 2^(scale · s − logSum) and dS = P ∘ (dP − D), from two numbers per query. All threads of a computing warpgroup
// call these functions, each for its part of a tile in wgmma.cuh's order. Rows are queries, and the numbers of the
// thread's two rows are in registers; or columns are queries, and `statistics` is the address of the tile's
// QueryStatistics.

/// Two numbers of a query that the second function of the gradient reads: the logarithm of the sum of exponentials, in
/// units of the exponent of two, and D = rowsum(dO ∘ O), corrected.
struct alignas(8) QueryStatistics {
  float logSum, rowSum;
};

/// Replaces scores by probabilities. Rows are queries.
template <int size>
__device__ inline void exponentiateRows(float (&scores)[size], float scale, const float (&logSums)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    scores[i] = exp2Approximate(fmaf(scores[i], scale, -logSums[i / 2 % 2]));
}
/// Replaces dP by dS, and adds the elements of each row of dS to `remainders`. Rows are queries.
template <int size>
__device__ inline void differentiateRows(float (&slopes)[size], const float (&probabilities)[size],
                                         const float (&rowSums)[2], float (&remainders)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int row = i / 2 % 2;
    slopes[i] = probabilities[i] * (slopes[i] - rowSums[row]);
    remainders[row] += slopes[i];
  }
}

/// The same with the derivatives of the scores, by which dS is multiplied. `remainders` get the elements of dS without
/// them, and `weights` the derivatives times the probabilities.
template <int size>
__device__ inline void differentiateRows(float (&slopes)[size], const float (&probabilities)[size],
                                         const float (&derivatives)[size], const float (&rowSums)[2],
                                         float (&remainders)[2], float (&weights)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int row = i / 2 % 2;
    const float slope = probabilities[i] * (slopes[i] - rowSums[row]);
    remainders[row] += slope;
    weights[row] += probabilities[i] * derivatives[i];
    slopes[i] = slope * derivatives[i];
  }
}

__device__ inline float loadSharedFloat(unsigned address) { return __uint_as_float(loadSharedWord(address)); }

/// Replaces scores by probabilities. Columns are queries. Queries past the last one have infinite sums, and keys past
/// the last one have results that are not stored.
template <int size>
__device__ inline void exponentiateColumns(float (&scores)[size], float scale, unsigned statistics,
                                           const WarpgroupLane &lane) {
  const unsigned own = statistics + lane.column * static_cast<int>(sizeof(QueryStatistics));
#pragma unroll
  for (int i = 0; i < size / 4; ++i) {
    const float logSums[2] = {loadSharedFloat(own + 64 * i), loadSharedFloat(own + 64 * i + 8)};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      scores[4 * i + j] = exp2Approximate(fmaf(scores[4 * i + j], scale, -logSums[j % 2]));
  }
}
/// Replaces dP by dS. Columns are queries.
template <int size>
__device__ inline void differentiateColumns(float (&slopes)[size], const float (&probabilities)[size],
                                            unsigned statistics, const WarpgroupLane &lane) {
  const unsigned own = statistics + lane.column * static_cast<int>(sizeof(QueryStatistics)) + 4;
#pragma unroll
  for (int i = 0; i < size / 4; ++i) {
    const float rowSums[2] = {loadSharedFloat(own + 64 * i), loadSharedFloat(own + 64 * i + 8)};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      slopes[4 * i + j] = probabilities[4 * i + j] * (slopes[4 * i + j] - rowSums[j % 2]);
  }
}
