//===- ScoreInspection.h - Which tiles a score function hides ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCOREINSPECTION_H
#define CS336_LIB_TARGET_CUDA_SCOREINSPECTION_H

#include "ScoreFunctionPrinter.h"

namespace cs336::cuda {

/// The conditions by which a score function hides pairs, over a tile of queries and keys. Kernels evaluate them in
/// interval arithmetic (runtime/kernels/pair_tile.cuh).
///
/// A condition can be found if it depends on the query alone or on the key alone, or if it compares two numbers that
/// do: documents compare an element per query with one per key, and lengths compare the key with an element per batch.
/// Logical operations combine such conditions. All other conditions are unknown: they may hold or fail.
class ScoreInspection {
public:
  /// `general` is the function's scalar code, and `interior` the same code with the results that comparisons of
  /// distances have in the interior.
  ScoreInspection(mlir::func::FuncOp general, mlir::func::FuncOp interior, const ScoreFunctionPrinter &printer);

  /// Returns whether there are values of tables for which all pairs of a tile are known to be hidden.
  bool hidesTiles() const { return canHide; }
  /// Returns the conditions of `interior` of which each hides all pairs for which it does not have the given result. In
  /// tiles that `inspect` finds to be whole they have these results for all pairs.
  llvm::ArrayRef<std::pair<mlir::Value, bool>> getConditionsOfWhole() const { return conditionsOfWhole; }
  /// Returns the text of the member function `inspect`.
  std::string print() const;

private:
  bool canHide;
  llvm::SmallVector<std::pair<mlir::Value, bool>> conditionsOfWhole;
  std::string statements, isSeen, isWhole;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCOREINSPECTION_H
