//===- AttentionKernel.h - Attention by blocks ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CPU_ATTENTIONKERNEL_H
#define CS336_LIB_TARGET_CPU_ATTENTIONKERNEL_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/CompiledKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <optional>

namespace cs336::cpu {

/// Builds the function of a kernel that is one `cs336.attention` or its gradient, on blocks of queries and keys: no
/// scores are stored, and a thread's memory does not grow with the number of positions. Sets the compiled kernel's rows
/// and grain. Returns null for other kernels, if head_dim is too large for the stack, or if heads are not contiguous.
///
/// A row is a block of queries of one head. The gradient has further rows after these: each is a block of keys of one
/// key head, for the gradients of keys and values. Every sum has one order, in whichever thread computes the row.
std::optional<mlir::LLVM::LLVMFuncOp> emitAttention(exec::KernelOp kernel, llvm::StringRef symbol, int64_t vectorBits,
                                                    mlir::OpBuilder &builder, CompiledKernel &compiled);

} // namespace cs336::cpu

#endif // CS336_LIB_TARGET_CPU_ATTENTIONKERNEL_H
