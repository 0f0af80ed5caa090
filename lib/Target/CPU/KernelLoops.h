//===- KernelLoops.h - Statements and loops of a kernel ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_KERNELLOOPS_H
#define CS336_LIB_TARGET_CPU_KERNELLOOPS_H

#include "KernelPlan.h"

namespace cs336::cpu {

/// Fills the plan's storages, statements and loops. Loops that walk all tensors as one loop would are merged; a merged
/// loop has size 1 and stands nowhere. Returns the loops whose iterations are independent of each other: every
/// statement has them, none reduces over them, and what a statement leaves for another is read in the iteration that
/// wrote it.
mlir::FailureOr<llvm::SmallBitVector> findLoops(mlir::func::FuncOp func, mlir::TypeRange operandTypes,
                                                KernelPlan &plan);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_KERNELLOOPS_H
