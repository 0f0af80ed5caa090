//===- LinearIndex.h - Numbers that are linear in indices -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_LINEARINDEX_H
#define CS336_DIALECT_CS336_IR_LINEARINDEX_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace cs336 {

/// factor·d + constant, where d = i − j is the distance between query i and key j.
struct LinearDistance {
  double factor, constant;

  double at(double distance) const { return factor * distance + constant; }
};

/// query·i + key·j + constant for query i and key j.
struct LinearIndex {
  double query = 0, key = 0, constant = 0;

  /// Returns whether arithmetic in `element` gives all values for indices below `queries` and `keys` without rounding
  /// and wrapping around.
  bool isExact(int64_t queries, int64_t keys, mlir::Type element) const;

  /// Returns the same number as a function of the distance, or nullopt if it does not depend on the distance alone.
  std::optional<LinearDistance> getLinearDistance(int64_t queries, int64_t keys) const;
};

inline LinearIndex operator*(double factor, const LinearIndex &x) {
  return {factor * x.query, factor * x.key, factor * x.constant};
}
inline LinearIndex operator+(const LinearIndex &x, const LinearIndex &y) {
  return {x.query + y.query, x.key + y.key, x.constant + y.constant};
}
inline LinearIndex operator-(const LinearIndex &x, const LinearIndex &y) { return x + -1 * y; }

/// Returns the number of a constant whose elements are equal.
std::optional<double> getConstantNumber(mlir::Value value);

/// Returns the result of an operation of a score function, with the numbers that `getNumber` returns for its operands.
/// Returns nullopt if an operand is unknown, or the result is not linear in the indices.
std::optional<LinearIndex> inferLinearIndex(mlir::Operation *op,
                                            llvm::function_ref<std::optional<LinearIndex>(mlir::Value)> getNumber);

/// Returns the result of the comparison of two numbers with this difference.
bool holds(Predicate predicate, double difference);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_LINEARINDEX_H
