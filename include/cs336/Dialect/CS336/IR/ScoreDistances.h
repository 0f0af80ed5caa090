//===- ScoreDistances.h - Which pairs a score function can show -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval analysis of the comparisons, minima and maxima of a score function. Kernels use it to skip tiles without
// visible pairs, and to omit the mask and clamped distances in tiles in which they change nothing.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_SCOREDISTANCES_H
#define CS336_DIALECT_CS336_IR_SCOREDISTANCES_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// An interval of distances i − j between query i and key j, both ends included.
struct DistanceRange {
  int64_t first, last;

  bool operator==(const DistanceRange &) const = default;
  /// Returns the number of pairs of `queries` queries and `keys` keys at these distances.
  int64_t countPairs(int64_t queries, int64_t keys) const;
};

/// The ranges of distances that an attention's causal mask and score function treat differently.
struct ScoreDistances {
  /// Pairs at other distances are hidden for every batch and head. The range is not empty.
  DistanceRange visible;
  /// The largest range of visible distances in which every comparison, minimum and maximum that depends on the distance
  /// alone has one result, which is in `interiorChoices`: that of the comparison, or whether the minimum or maximum is
  /// its first operand.
  DistanceRange interior;
  llvm::DenseMap<mlir::Operation *, bool> interiorChoices;
  /// True if every result of the function is the scaled score or −∞. A positive scale can then be applied after the
  /// function.
  bool onlyHides;
  /// True if every result of the function is −∞, or the scaled score plus terms that do not depend on it. The
  /// derivative with respect to the scaled score is then 1 for every pair that has a probability. `onlyHides` implies
  /// this.
  bool onlyShifts;

  static ScoreDistances analyze(AttentionOp op);
  static ScoreDistances analyze(AttentionBackwardOp op);
};

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_SCOREDISTANCES_H
