//===- EmitKernel.h - A planned kernel as loops over memory --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_EMITKERNEL_H
#define CS336_LIB_TARGET_CPU_EMITKERNEL_H

#include "KernelPlan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace cs336::cpu {

/// Builds `llvm.func @symbol(buffers: ptr, begin: i64, end: i64)` that computes rows [begin, end) of the planned
/// kernel: `scf.for` loops around loads, operations and stores. buffers[i] points at element 0 of operand i.
///
/// A loop nest keeps a reduction in registers if all of its inner loops reduce, or else in memory. Sums over long loops
/// are sums of blocks. An innermost loop runs on vectors of the vector dialect, for registers of `vectorBits` bits, and
/// its remainder on scalars. The attribute `scalar_because` of a loop that cannot run on vectors gives the reason.
mlir::LLVM::LLVMFuncOp emitKernel(const KernelPlan &plan, mlir::func::FuncOp kernel, llvm::StringRef symbol,
                                  int64_t vectorBits, mlir::OpBuilder &builder);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_EMITKERNEL_H
