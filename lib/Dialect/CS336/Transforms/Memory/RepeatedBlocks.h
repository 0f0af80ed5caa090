//===- RepeatedBlocks.h - The layers of a model, by structure ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_REPEATEDBLOCKS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_REPEATEDBLOCKS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace cs336 {

/// A stretch of a program that one value goes into and one comes out of.
struct ProgramBlock {
  /// All that operations after it read of what was computed before it, and of it; arguments apart.
  mlir::Value input, output;
  /// Its operations, in order.
  llvm::SmallVector<mlir::Operation *> operations;
};

/// The activations among `operations`: what depends on several of the function's arguments, such as an input and a
/// weight. What depends on one alone, or on none, is the same in every place.
llvm::SmallVector<mlir::Operation *> collectActivations(llvm::ArrayRef<mlir::Operation *> operations);

/// The blocks that follow each other and are equal in their operations, attributes and types, and in how these read
/// each other. Where there are several sequences of them, the one of most operations; nothing if nothing repeats.
/// `activations` are in program order and have one block.
llvm::SmallVector<ProgramBlock> findRepeatedBlocks(llvm::ArrayRef<mlir::Operation *> activations);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_REPEATEDBLOCKS_H
