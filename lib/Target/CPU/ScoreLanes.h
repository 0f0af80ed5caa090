//===- ScoreLanes.h - A score function on vectors ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_SCORELANES_H
#define CS336_LIB_TARGET_CPU_SCORELANES_H

#include "KernelMemory.h"
#include "KernelPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336::cpu {

/// Builds `scalars`, a score function of scalars, for all lanes of a vector at once. `tables` are the storages of its
/// tables. An argument is a scalar if it is the same for all lanes. Results are vectors.
llvm::SmallVector<mlir::Value> buildScoreLanes(mlir::func::FuncOp scalars, const KernelPlan &plan, KernelMemory &memory,
                                               llvm::ArrayRef<unsigned> tables, int64_t lanes,
                                               llvm::ArrayRef<mlir::Value> arguments, mlir::OpBuilder &builder,
                                               mlir::Location loc);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_SCORELANES_H
