//===- Wgmma.h - The text of wgmma instructions -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_WGMMA_H
#define CS336_LIB_TARGET_CUDA_WGMMA_H

#include "mlir/IR/Types.h"

namespace cs336::cuda {

/// The bytes by which a kernel may have to move its first tile in shared memory (runtime/kernels/slab_tile.cuh).
constexpr int64_t slabSlack = 1024 - 128;

/// Writes the structure `name` of instructions (runtime/kernels/wgmma.cuh) for elements of bf16 or f16, and results of
/// these numbers of columns, multiples of 8 up to 256, in ascending order. Those for `leftTransposed` numbers, which
/// `columns` contains, have a function for a left operand with rows of memory along the reduction axis.
void emitWgmma(llvm::raw_ostream &os, llvm::StringRef name, mlir::Type element, llvm::ArrayRef<int64_t> columns,
               llvm::ArrayRef<int64_t> leftTransposed = {});

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_WGMMA_H
