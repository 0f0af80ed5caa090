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

/// How the innermost loop of a phase runs: `lanes` iterations at a time, then the rest one by one.
struct VectorLoop {
  int64_t lanes = 1;
  /// Why, if `lanes` is 1.
  llvm::StringRef scalarBecause;
};

/// A sum, maximum or other combination that the innermost loop keeps in registers, as what combines two values; null
/// if the loop keeps it in memory.
using RegisterCombiners = llvm::ArrayRef<mlir::Operation *>;

/// Chooses how the innermost loop of `phase` runs on registers of `vectorBits` bits. `combiners` has an element for
/// each output of the phase's statements that is a reduction.
VectorLoop chooseVectorLoop(const KernelPlan &plan, const Phase &phase, RegisterCombiners combiners,
                            int64_t vectorBits);

/// The reduction of a vector that `combiner` does to two values, if the vector dialect has one.
std::optional<mlir::vector::CombiningKind> getCombiningKind(mlir::Operation *combiner);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_VECTORLOOPS_H
