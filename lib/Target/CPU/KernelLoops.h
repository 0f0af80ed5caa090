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

/// Fills the plan's storages, statements and loops. Nested loops that traverse all tensors like one loop are merged:
/// one of them gets size 1 and is not used. Returns the loops with independent iterations: every statement has them, no
/// statement reduces over them, and each value is read in the iteration that wrote it.
mlir::FailureOr<llvm::SmallBitVector> findLoops(mlir::func::FuncOp func, mlir::TypeRange operandTypes,
                                                KernelPlan &plan);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_KERNELLOOPS_H
