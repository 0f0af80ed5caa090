//===- RecomputationSteps.h - Shares of recomputation -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONSTEPS_H
#define CS336_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONSTEPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstddef>

namespace cs336 {

/// The steps of `--cs336-selective-checkpoint` in one function. Each step takes one block to the next rung. All blocks
/// reach a rung before the first one goes beyond it.
struct RecomputationSteps {
  size_t rungs = 0, blocks = 0;

  size_t getNumber() const { return rungs * blocks; }
  /// Returns the share of the first `steps` steps, from 0 to 1.
  double getShare(size_t steps) const { return static_cast<double>(steps) / static_cast<double>(getNumber()); }
  /// Returns the number of steps that have at least this share of all steps. A share that exceeds a whole number of
  /// steps by less than a thousandth of a step counts as that number, because it may be a rounded share.
  size_t getSteps(double share) const;
};

/// Returns the steps of a differentiated function; none if its backward pass reads no value that it could compute
/// again.
RecomputationSteps findRecomputationSteps(mlir::func::FuncOp function);

} // namespace cs336

#endif // CS336_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONSTEPS_H
