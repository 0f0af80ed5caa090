//===- Strides.h - Strides of memrefs ---------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_STRIDES_H
#define CS336_DIALECT_CS336_IR_STRIDES_H

#include "mlir/IR/BuiltinTypes.h"

namespace cs336 {

/// Does the same as MemRefType::getStridesAndOffset, in elements. For a memref without a layout, that function builds
/// and simplifies affine expressions, which took a quarter of the time of planning a large model. Here the strides of
/// such a memref are computed from its sizes, and those of a strided layout are read.
llvm::LogicalResult getStridesAndOffset(mlir::MemRefType type, llvm::SmallVectorImpl<int64_t> &strides,
                                        int64_t &offset);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_STRIDES_H
