//===- VectorLoops.h - Which loops run on vectors -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_VECTORLOOPS_H
#define CS336_LIB_TARGET_CPU_VECTORLOOPS_H

#include "KernelPlan.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace cs336::cpu {

/// The execution of a phase's innermost loop: `lanes` iterations at a time, then the remainder one by one.
struct VectorLoop {
  int64_t lanes = 1;
  /// The reason, if `lanes` is 1.
  llvm::StringRef scalarBecause;
};

/// The operation that combines two values of a reduction that the innermost loop keeps in registers; null if the loop
/// keeps it in memory.
using RegisterCombiners = llvm::ArrayRef<mlir::Operation *>;

/// Chooses how the innermost loop of `phase` runs on registers of `vectorBits` bits. `combiners` has an element for
/// each output of the phase's statements that is a reduction.
VectorLoop chooseVectorLoop(const KernelPlan &plan, const Phase &phase, RegisterCombiners combiners,
                            int64_t vectorBits);

/// Returns the vector dialect's reduction that corresponds to `combiner`, if there is one.
std::optional<mlir::vector::CombiningKind> getCombiningKind(mlir::Operation *combiner);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_VECTORLOOPS_H
