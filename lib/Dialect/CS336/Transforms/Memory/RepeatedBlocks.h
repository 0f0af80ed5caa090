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

/// Consecutive operations of a program with one value as input and one as output.
struct ProgramBlock {
  /// The only value, except for arguments, that later operations read from this stretch or from earlier operations.
  mlir::Value input, output;
  /// Its operations, in order.
  llvm::SmallVector<mlir::Operation *> operations;
};

/// Returns the activations among `operations`: values that depend on several of the function's arguments, such as an
/// input and a weight. A value that depends on one argument or none can be computed anywhere.
llvm::SmallVector<mlir::Operation *> collectActivations(llvm::ArrayRef<mlir::Operation *> operations);

/// Returns consecutive equal blocks: their operations, attributes, types and uses are the same. If there are several
/// such sequences, returns the one with the most operations; if there is none, returns an empty vector. `activations`
/// are in program order, in one block.
llvm::SmallVector<ProgramBlock> findRepeatedBlocks(llvm::ArrayRef<mlir::Operation *> activations);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_REPEATEDBLOCKS_H
