//===- warpgroup_bias.cuh - Biases linear in positions ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// In the interior, many score functions add a bias to the scaled score that is a linear function of query and key, or a
// number: linear biases (ALiBi), or the last element of a table for all far pairs. A thread evaluates such a bias for
// its first pair of a tile. All its other pairs are a constant number of rows and columns away. In the forward pass
// each takes one fused multiply-add with a constant, or nothing at all; in the gradient, statistics of queries contain
// the steps. Biases are divided by the scale, so that scores stay q · k until the exponential.

/// True if interior scores are their arguments plus a bias that is linear in query and key: if the score function has
/// the member `getBiasSteps`.
template <class Problem, class = void>
inline constexpr bool hasLinearBias = false;
template <class Problem>
inline constexpr bool hasLinearBias<Problem, decltype(static_cast<void>(&ScoreOf<Problem>::getBiasSteps))> =
    (Problem::scale > 0);

/// True if a matmul adds the steps of such a bias to the scores of a tile (warpgroup_bias_steps.cuh), which are then
/// all interior: if the score function has the member `multipliesSteps`.
template <class Problem, class = void>
inline constexpr bool multipliesSteps = false;
template <class Problem>
inline constexpr bool multipliesSteps<Problem, decltype(static_cast<void>(ScoreOf<Problem>::multipliesSteps))> = true;

/// True if interior scores are softCap · tanh(capSlope · s), for the scaled score s: if the score function has these
/// two members. Scores then stay q · k until the exponential (warpgroup_soft_cap.cuh).
template <class Problem, class = void>
inline constexpr bool hasSoftCap = false;
template <class Problem>
inline constexpr bool hasSoftCap<Problem, decltype(static_cast<void>(ScoreOf<Problem>::softCap))> = true;

/// The factor of a tile's scores in exponents of two.
template <class Problem>
constexpr float scaleOfTiles =
    hasLinearBias<Problem> ? static_cast<float>(Problem::scale) * log2OfE : scaleOfScores<Problem>;

template <class Problem>
constexpr float inverseScale = 1 / static_cast<float>(Problem::scale);

/// Divides scores by the scale, for the same factor in exponents of two as that of the interior.
template <class Problem, int size>
__device__ inline void removeScale(float (&scores)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    scores[i] *= inverseScale<Problem>;
}

/// Returns whether the interior is all that is visible, so that tiles can be clipped to it.
template <class Problem>
__device__ constexpr bool clipsToInterior() {
  using Score = ScoreOf<Problem>;
  if constexpr (!Score::exists)
    return false;
  else if constexpr (!Score::interiorIsScore && !hasLinearBias<Problem> && !hasSoftCap<Problem>)
    return false;
  else
    return Score::firstInterior == Score::firstDistance && Score::lastInterior == Score::lastDistance;
}

/// The bias of the interior for a thread's part of a tile of scores; nothing unless the bias is linear.
template <class Problem, bool isLinear = hasLinearBias<Problem>>
struct TileBias {
  template <bool rowsAreKeys>
  __device__ static TileBias find(const ScoreOf<Problem> &, int, int, int, int) {
    return {};
  }
  __device__ TileBias move(int) const { return {}; }
  __device__ static float getSteps(const ScoreOf<Problem> &, int, int, int) { return 0; }
  template <int size>
  __device__ void addSteps(float (&)[size]) const {}
  __device__ static float addTo(float exponent, int) { return exponent; }
};

template <class Problem>
struct TileBias<Problem, true> {
  using Score = ScoreOf<Problem>;
  /// The biases of the thread's first column in its two rows, in exponents of two. If a matmul adds the steps, or rows
  /// are keys, those of the tile's first column.
  float ofRows[2] = {0, 0};
  /// By how much the bias changes from one column to the next, divided by the scale.
  float step = 0;

  /// Returns the bias for a thread whose first row is `firstRow`, and whose first column is `firstColumn`. Rows are
  /// queries and columns are keys, or the other way round if `rowsAreKeys`.
  template <bool rowsAreKeys>
  __device__ static TileBias find(const Score &function, int firstRow, int firstColumn, int batch, int head) {
    const int query = rowsAreKeys ? firstColumn : firstRow, key = rowsAreKeys ? firstRow : firstColumn;
    TileBias bias;
    bias.ofRows[0] = log2OfE * computeInterior(function, 0.0f, batch, head, query, key);
    bias.ofRows[1] = bias.ofRows[0];
    if constexpr (Score::biasHasSteps) {
      const BiasSteps steps = function.getBiasSteps(batch, head);
      bias.step = inverseScale<Problem> * (rowsAreKeys ? steps.ofQuery : steps.ofKey);
      if constexpr (!Score::biasIsOfDistance || multipliesSteps<Problem> || rowsAreKeys)
        bias.ofRows[1] += 8 * log2OfE * (rowsAreKeys ? steps.ofKey : steps.ofQuery);
    }
    return bias;
  }

  /// Returns the bias of the tile whose first column is so many columns after that of this tile.
  __device__ TileBias move(int columns) const {
    TileBias moved = *this;
    if constexpr (Score::biasHasSteps)
#pragma unroll
      for (float &bias : moved.ofRows)
        bias = fmaf(static_cast<float>(columns) * scaleOfTiles<Problem>, step, bias);
    return moved;
  }

  /// Returns by how much the bias of a query of a tile differs from that of the tile's first query, in exponents of
  /// two.
  __device__ static float getSteps(const Score &function, int query, int batch, int head) {
    if constexpr (Score::biasHasSteps)
      return static_cast<float>(query) * (log2OfE * function.getBiasSteps(batch, head).ofQuery);
    else
      return 0;
  }

  /// Adds what the biases of other columns have more than that of the first one, where columns are keys. A bias by
  /// distance changes as much from one row to the next, in the other direction.
  template <int size>
  __device__ void addSteps(float (&scores)[size]) const {
    if constexpr (Score::biasHasSteps && !multipliesSteps<Problem>)
#pragma unroll
      for (int i = 0; i < size; ++i)
        scores[i] = fmaf(step, 8 * (i / 4) + i % 2 - (Score::biasIsOfDistance ? 8 * (i / 2 % 2) : 0), scores[i]);
  }
  /// Subtracts what the biases of columns have more than that of the tile's first one, where columns are queries.
  template <int size>
  __device__ void removeSteps(float (&scores)[size], const WarpgroupLane &lane) const {
    if constexpr (Score::biasHasSteps)
#pragma unroll
      for (int i = 0; i < size; ++i)
        scores[i] = fmaf(-step, static_cast<float>(8 * (i / 4) + i % 2 + lane.column), scores[i]);
  }
  /// Returns the sum of an exponent and the bias of the thread's first or second row.
  __device__ float addTo(float exponent, int row) const { return exponent + ofRows[row]; }
};
