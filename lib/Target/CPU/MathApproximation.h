//===- MathApproximation.h - float32 functions without calls ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_MATHAPPROXIMATION_H
#define CS336_LIB_TARGET_CPU_MATHAPPROXIMATION_H

#include "mlir/IR/PatternMatch.h"

namespace cs336::cpu {

/// Expands `math.exp`, `math.log`, `math.tanh` and `math.erf` of float32 and of its vectors to branch-free arithmetic:
/// an element has the same bits in any lane and as a scalar. Errors are below 1.5 units in the last place over all
/// float32, subnormal arguments and results included; infinities and NaN follow IEEE 754. (MLIR's own expansions are
/// off by up to 5 units, flush subnormal results of the exponential to 0, and have no logarithm of subnormal
/// arguments.)
void populateMathApproximationPatterns(mlir::RewritePatternSet &patterns);

/// Returns whether the patterns expand the operation.
bool hasMathApproximation(mlir::Operation *op);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_MATHAPPROXIMATION_H
