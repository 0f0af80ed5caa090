//===- warpgroup_gradient_slopes.cuh - P and dS in one pass -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// P = 2^(scale · s − logSum) and dS = P ∘ (dP − D), or P ∘ derivatives ∘ (dP − D). Rows are keys, and columns are
// queries, whose numbers are in shared memory at `statistics`: all logSum of the tile, then all −D. The threads of a
// warpgroup for dK and dV call these functions, each for its part of a tile of 64 x 64 in wgmma.cuh's order.

/// Replaces scores, whose rows have this bias, by probabilities. Queries past the last one have infinite sums, and
/// probabilities of 0. Keys past the last one have numbers that callers must not use.
template <int size, class Bias>
__device__ inline void exponentiateByQuery(float (&scores)[size], float scale, unsigned statistics,
                                           const WarpgroupLane &lane, const Bias &bias) {
  const unsigned logSums = statistics + lane.column * 4;
#pragma unroll
  for (int i = 0; i < size / 4; ++i) {
    float pair[2];
    loadSharedPair(pair, logSums + 32 * i);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      scores[4 * i + j] = exp2Approximate(fmaf(scores[4 * i + j], scale, bias.addTo(-pair[j % 2], j / 2)));
  }
}
/// Writes −D of each element's query, which the sum of dP begins with.
template <int size>
__device__ inline void startFromRowSums(float (&slopes)[size], unsigned statistics, const WarpgroupLane &lane) {
  const unsigned rowSums = statistics + (2 * size + lane.column) * 4;
#pragma unroll
  for (int i = 0; i < size / 4; ++i) {
    float pair[2];
    loadSharedPair(pair, rowSums + 32 * i);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      slopes[4 * i + j] = pair[j % 2];
  }
}
/// Replaces dP − D by dS. The factors are probabilities, multiplied by derivatives if the score function has any.
template <int size>
__device__ inline void differentiate(float (&slopes)[size], const float (&factors)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    slopes[i] *= factors[i];
}
