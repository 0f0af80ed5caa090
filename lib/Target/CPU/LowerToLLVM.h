//===- LowerToLLVM.h - Kernels' loops to the LLVM dialect ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_LOWERTOLLVM_H
#define CS336_LIB_TARGET_CPU_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"

namespace cs336::cpu {

/// Converts what `emitKernel` built to the LLVM dialect: float32 functions become arithmetic, bf16 conversions become
/// integer operations, functions of float64 become calls to libm.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_LOWERTOLLVM_H
