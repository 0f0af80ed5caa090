//===- LiveSet.h - Memory that a function holds at once ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace cs336 {

/// Returns whether readers of the result read the operand's memory instead, if it has any: views, broadcasts,
/// constants.
bool hasNoMemory(mlir::Operation *op);

/// Returns the value whose memory `value` reads, or null if readers compute `value` themselves.
mlir::Value getSource(mlir::Value value);

/// Returns the size in bytes of the largest live set of tensors that the block computes, if operations run in program
/// order, each writes its own memory, and each tensor is live until its last reader. A memory plan may need more, for
/// workspaces, or less, if results are computed in place.
int64_t getLargestLiveSet(mlir::Block &block);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_LIVESET_H
