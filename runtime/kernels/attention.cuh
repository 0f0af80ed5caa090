//===- attention.cuh - Parts that all attention kernels share ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A `Problem` describes one attention by constants: batches, queryHeads, keyHeads, queries, keys, headDim, scale,
// isCausal, and the layouts (HeadLayout) QueryLayout, KeyLayout, …. Its member Score, if any, is the score function:
//
// - onlyHides: every score is its argument or −∞, so that the scale may follow it.
// - firstDistance, lastDistance: pairs at other distances of query and key are hidden.
// - firstInterior, lastInterior: distances at which computeInterior is equal to compute.
// - interiorIsScore: computeInterior would return its argument, and does not exist.
// - interiorIsGeneral: computeInterior would be compute, and does not exist.
// - returnsDerivative: compute and computeInterior also return the derivative of the score. Without it, the derivative
//   is 1 for every score that is not −∞.
// - compute, computeInterior: the score of a pair, from its scaled q · k.
// - getBiasSteps: by what one query or key changes the bias, if interior scores are their arguments plus a bias that is
//   linear in query and key. It exists only then, and unless interiorIsScore.
// - biasHasSteps: some of these steps may not be 0. Exists with getBiasSteps.
// - biasIsOfDistance: the steps of query and key are opposite. Exists with getBiasSteps.
// - inspect: what data does to the pairs of a tile (tile_mask.cuh). If it exists, kernels skip tiles that data hides.
//   computeInterior is then equal to compute only in tiles that `inspect` finds to be whole.

constexpr float log2OfE = 1.4426950408889634f;

/// The tile of a head that a thread block computes. A head has `tiles` tiles of `perTile` rows. Blocks start with the
/// tiles of all heads that have the most work, so that short tiles fill the end of the grid.
template <int tiles, int perTile, int heads, bool isLastLongest>
struct HeadTile {
  int first, head, batch;

  __device__ static HeadTile fromBlock(int block, int batches) {
    const int tile = block / (batches * heads), headOfBatch = block % (batches * heads);
    return {(isLastLongest ? tiles - 1 - tile : tile) * perTile, headOfBatch % heads, headOfBatch / heads};
  }
};

__device__ constexpr int countTiles(int rows, int perTile) { return (rows + perTile - 1) / perTile; }

/// By how much a bias that is linear in query and key changes from one query to the next, and from one key to the next.
struct BiasSteps {
  float ofQuery, ofKey;
};

/// The score function of a problem that has none.
struct NoScoreFunction {
  static constexpr bool exists = false, onlyHides = true, returnsDerivative = false;
};

template <class Problem, class = void>
struct SelectScoreFunction {
  using Type = NoScoreFunction;
};
template <class Problem>
struct SelectScoreFunction<Problem, decltype(static_cast<void>(sizeof(typename Problem::Score)))> {
  using Type = typename Problem::Score;
};
template <class Problem>
using ScoreOf = typename SelectScoreFunction<Problem>::Type;

/// True if some queries are too far after the first keys to see them.
template <class Problem, bool hasFunction = ScoreOf<Problem>::exists>
constexpr bool isFarHidden = false;
template <class Problem>
constexpr bool isFarHidden<Problem, true> = ScoreOf<Problem>::lastDistance < Problem::queries - 1;

/// The pairs of query and key that may be visible.
template <class Problem>
struct VisiblePairs {
  using Score = ScoreOf<Problem>;

  /// Return the first key that a query from `firstQuery` on sees, and the end of those that queries before `endQuery`
  /// see.
  __device__ static int getFirstKey(int firstQuery) {
    if constexpr (Score::exists)
      return firstQuery > Score::lastDistance ? firstQuery - Score::lastDistance : 0;
    else
      return 0;
  }
  __device__ static int getEndKey(int endQuery) {
    if constexpr (Score::exists) {
      const int end = endQuery - Score::firstDistance;
      return end < 0 ? 0 : end < Problem::keys ? end : Problem::keys;
    } else {
      return Problem::isCausal && endQuery < Problem::keys ? endQuery : Problem::keys;
    }
  }
  /// Return the first query that sees a key from `firstKey` on, and the end of those that see keys before `endKey`.
  __device__ static int getFirstQuery(int firstKey) {
    if constexpr (Score::exists)
      return firstKey + Score::firstDistance > 0 ? firstKey + Score::firstDistance : 0;
    else
      return Problem::isCausal ? firstKey : 0;
  }
  __device__ static int getEndQuery(int endKey) {
    if constexpr (Score::exists) {
      const int end = endKey + Score::lastDistance;
      return end < 0 ? 0 : end < Problem::queries ? end : Problem::queries;
    } else {
      return Problem::queries;
    }
  }
  /// Returns whether a query from `firstQuery` to `endQuery` - 1 may see a key from `firstKey` to `endKey` - 1.
  __device__ static bool canSee(int firstQuery, int endQuery, int firstKey, int endKey) {
    if constexpr (Score::exists)
      return firstKey < getEndKey(endQuery) && endKey > getFirstKey(firstQuery);
    else
      return !Problem::isCausal || firstKey < endQuery;
  }
};

/// Returns the number of keys that a query may see.
template <class Problem>
__device__ constexpr int countVisibleKeys(int query) {
  using Score = ScoreOf<Problem>;
  const int end = query - Score::firstDistance + 1, first = query - Score::lastDistance;
  return (end < Problem::keys ? end : Problem::keys) - (first > 0 ? first : 0);
}

/// Returns true if the last queries see the most keys.
template <class Problem>
__device__ constexpr bool seesMostLast() {
  if constexpr (ScoreOf<Problem>::exists)
    return countVisibleKeys<Problem>(Problem::queries - 1) > countVisibleKeys<Problem>(0);
  else
    return Problem::isCausal;
}

/// The tiles of keys that a tile of queries may see: from `first` to `end` - 1, at least one.
struct KeyTiles {
  int first, end;

  template <class Problem>
  __device__ static KeyTiles find(int firstQuery, int endQuery, int keysPerTile) {
    using Visible = VisiblePairs<Problem>;
    const int end = countTiles(Visible::getEndKey(endQuery), keysPerTile);
    if constexpr (!ScoreOf<Problem>::exists)
      return {0, end};
    const int first = Visible::getFirstKey(firstQuery) / keysPerTile, last = countTiles(Problem::keys, keysPerTile) - 1;
    const int begin = first < last ? first : last;
    return {begin, end > begin ? end : begin + 1};
  }
};

/// The factor of q · k before the score function, and that of scores in exponents of 2.
template <class Problem>
constexpr float scaleOfDots = ScoreOf<Problem>::onlyHides ? 1.0f : static_cast<float>(Problem::scale);
template <class Problem>
constexpr float scaleOfScores = (ScoreOf<Problem>::onlyHides ? static_cast<float>(Problem::scale) : 1.0f) * log2OfE;

/// Derivatives of scores, if the score function returns them.
struct NoDerivatives {};
template <class Score, class Accumulator, bool isNeeded = Score::returnsDerivative>
struct SelectDerivatives {
  using Type = NoDerivatives;
};
template <class Score, class Accumulator>
struct SelectDerivatives<Score, Accumulator, true> {
  using Type = Accumulator;
};

template <class Derivatives>
inline constexpr bool hasDerivatives = true;
template <>
inline constexpr bool hasDerivatives<NoDerivatives> = false;

/// The number that a row's maximum or log-sum-exp stands for in a difference. With a score function it is −∞ in a row
/// that sees nothing, whose exponentials are all 0.
template <class Problem, class Number>
__device__ inline Number shiftBy(Number number) {
  if constexpr (ScoreOf<Problem>::exists)
    return number == -infinity() ? 0 : number;
  else
    return number;
}

/// Returns 1 / `sum`, or 0 for the sum of a row that sees nothing.
template <class Problem, class Number>
__device__ inline Number invertSum(Number sum) {
  if constexpr (ScoreOf<Problem>::exists)
    return sum == 0 ? 0 : 1 / sum;
  else
    return 1 / sum;
}

/// Returns tanh x with a relative error of at most 2^-11, about that of rounding to bf16 or f16. For results that are
/// rounded to 16 bits in the end.
__device__ inline float approximateTanh(float x) {
#ifdef __CUDA_ARCH__
  float tangent;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tangent) : "f"(x));
  return tangent;
#else
  return tanhf(x);
#endif
}

/// Returns the score of a pair at an interior distance, and its derivative if there is a place for it.
template <class Score, class... Derivative>
__device__ inline float computeInterior(const Score &function, float dot, int batch, int head, int query, int key,
                                        Derivative &...derivative) {
  if constexpr (Score::interiorIsGeneral)
    return function.compute(dot, batch, head, query, key, derivative...);
  else
    return function.computeInterior(dot, batch, head, query, key, derivative...);
}

/// Replaces q · k by scores, and fills `derivatives` unless it is NoDerivatives. The warp's rows
/// are `rows` queries and columns are keys, or the other way round if `rowsAreKeys`.
template <class Problem, bool rowsAreKeys, int rows, class Accumulator, class Derivatives>
__device__ inline void applyScoreFunction(const ScoreOf<Problem> &function, Accumulator &scores,
                                          Derivatives &derivatives, int firstRow, int firstColumn, int batch,
                                          int head) {
  using Score = ScoreOf<Problem>;
  constexpr int columns = Accumulator::columns;
  const int firstQuery = rowsAreKeys ? firstColumn : firstRow, firstKey = rowsAreKeys ? firstRow : firstColumn;
  const int endQuery = firstQuery + (rowsAreKeys ? columns : rows), endKey = firstKey + (rowsAreKeys ? rows : columns);
  const bool isInterior = firstQuery - (endKey - 1) >= Score::firstInterior &&
                          endQuery - 1 - firstKey <= Score::lastInterior && endKey <= Problem::keys &&
                          endQuery <= Problem::queries;
  if (Score::interiorIsScore && isInterior)
    return;
  if constexpr (!Score::interiorIsScore) {
    if (isInterior) {
#pragma unroll
      for (int i = 0; i < sizeof(scores.values) / sizeof(scores.values[0]); ++i)
#pragma unroll
        for (int j = 0; j < Accumulator::valuesPerRow; ++j) {
          const int row = firstRow + scores.getRow(i), column = firstColumn + scores.getColumn(j);
          const int key = rowsAreKeys ? row : column, query = rowsAreKeys ? column : row;
          const float dot = scaleOfDots<Problem> * scores.values[i][j];
          if constexpr (hasDerivatives<Derivatives>)
            scores.values[i][j] = computeInterior(function, dot, batch, head, query, key, derivatives.values[i][j]);
          else
            scores.values[i][j] = computeInterior(function, dot, batch, head, query, key);
        }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < sizeof(scores.values) / sizeof(scores.values[0]); ++i)
#pragma unroll
    for (int j = 0; j < Accumulator::valuesPerRow; ++j) {
      const int row = firstRow + scores.getRow(i), column = firstColumn + scores.getColumn(j);
      const int key = rowsAreKeys ? row : column, query = rowsAreKeys ? column : row;
      const bool exists = key < Problem::keys && query < Problem::queries && !(Problem::isCausal && key > query);
      const float dot = scaleOfDots<Problem> * scores.values[i][j];
      if constexpr (hasDerivatives<Derivatives>) {
        derivatives.values[i][j] = 0;
        scores.values[i][j] =
            exists ? function.compute(dot, batch, head, query, key, derivatives.values[i][j]) : -infinity();
      } else {
        scores.values[i][j] = exists ? function.compute(dot, batch, head, query, key) : -infinity();
      }
    }
}

/// Sets masked scores to −∞: those of keys from `keys` on and, if attention is causal, those of keys after the query.
/// Rows are queries and columns are keys, or the other way round if `rowsAreKeys`. They start at `firstRow` and
/// `firstColumn`.
template <bool isCausal, bool rowsAreKeys, class Accumulator>
__device__ inline void maskScores(Accumulator &scores, int firstRow, int firstColumn, int keys) {
#pragma unroll
  for (int i = 0; i < sizeof(scores.values) / sizeof(scores.values[0]); ++i)
#pragma unroll
    for (int j = 0; j < Accumulator::valuesPerRow; ++j) {
      const int row = firstRow + scores.getRow(i), column = firstColumn + scores.getColumn(j);
      const int key = rowsAreKeys ? row : column, query = rowsAreKeys ? column : row;
      if (key >= keys || (isCausal && key > query))
        scores.values[i][j] = -infinity();
    }
}
