//===- pair_tile.cuh - Conditions over tiles of pairs -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Interval arithmetic with which a score function's member `inspect` finds what data does to the pairs of a tile. All
// threads of a warp call these functions together.

/// The results that a condition can have over the pairs of a tile. One that is possible may still not occur.
struct Outcomes {
  bool canHold, canFail;
};
__device__ inline Outcomes opposite(Outcomes a) { return {a.canFail, a.canHold}; }
__device__ inline Outcomes both(Outcomes a, Outcomes b) { return {a.canHold && b.canHold, a.canFail || b.canFail}; }
__device__ inline Outcomes either(Outcomes a, Outcomes b) { return {a.canHold || b.canHold, a.canFail && b.canFail}; }
/// Returns those of `a` where `condition` holds, and of `b` where it fails.
__device__ inline Outcomes choose(Outcomes condition, Outcomes a, Outcomes b) {
  return {(condition.canHold && a.canHold) || (condition.canFail && b.canHold),
          (condition.canHold && a.canFail) || (condition.canFail && b.canFail)};
}

/// The integers from `first` to `last`.
struct Interval {
  int first, last;
};

/// Returns the integers from `first` to `last`, or all integers if the 32-bit operation wraps around for some of them.
__device__ inline Interval makeInterval(long long first, long long last) {
  constexpr int most = 2147483647, least = -most - 1;
  if (first < least || last > most)
    return {least, most};
  return {static_cast<int>(first), static_cast<int>(last)};
}
__device__ inline Interval add(Interval a, Interval b) {
  return makeInterval(static_cast<long long>(a.first) + b.first, static_cast<long long>(a.last) + b.last);
}
__device__ inline Interval subtract(Interval a, Interval b) {
  return makeInterval(static_cast<long long>(a.first) - b.last, static_cast<long long>(a.last) - b.first);
}
__device__ inline Outcomes areEqual(Interval a, Interval b) {
  return {a.first <= b.last && b.first <= a.last, a.first != b.last || b.first != a.last};
}
__device__ inline Outcomes isLess(Interval a, Interval b) { return {a.first < b.last, a.last >= b.first}; }

/// The pairs of the queries from `firstQuery` to `endQuery` - 1 with the keys from `firstKey` to `endKey` - 1. All of
/// them exist, and there is at least one.
struct PairTile {
  int batch, firstQuery, endQuery, firstKey, endKey;

  /// Return the smallest interval that contains the values of `evaluate` at the tile's queries, or keys.
  template <class Evaluate>
  __device__ Interval overQueries(const Evaluate &evaluate) const {
    return findInterval(firstQuery, endQuery, evaluate);
  }
  template <class Evaluate>
  __device__ Interval overKeys(const Evaluate &evaluate) const {
    return findInterval(firstKey, endKey, evaluate);
  }
  /// The same for conditions.
  template <class Evaluate>
  __device__ Outcomes testQueries(const Evaluate &evaluate) const {
    const Interval results = overQueries(evaluate);
    return {results.last != 0, results.first == 0};
  }
  template <class Evaluate>
  __device__ Outcomes testKeys(const Evaluate &evaluate) const {
    const Interval results = overKeys(evaluate);
    return {results.last != 0, results.first == 0};
  }

private:
  template <class Evaluate>
  __device__ static Interval findInterval(int first, int end, const Evaluate &evaluate) {
    // Threads past the end evaluate the first position again.
    int position = first + threadIdx.x % 32;
    const int value = evaluate(position < end ? position : first);
    Interval interval{value, value};
    for (position += 32; position < end; position += 32) {
      const int next = evaluate(position);
      interval = {next < interval.first ? next : interval.first, next > interval.last ? next : interval.last};
    }
    return {reduceWarp(interval.first, [](int a, int b) { return a < b ? a : b; }),
            reduceWarp(interval.last, [](int a, int b) { return a > b ? a : b; })};
  }
};

/// The result of a score function's member `inspect`: whether some pairs of a tile may be visible, and whether
/// computeInterior is equal to compute at interior distances.
struct TileInspection {
  bool isSeen, isWhole;
};
