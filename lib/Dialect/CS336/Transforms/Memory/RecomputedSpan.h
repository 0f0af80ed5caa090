//===- RecomputedSpan.h - Blocks that are computed again --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTEDSPAN_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTEDSPAN_H

#include "RepeatedBlocks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cstdint>

namespace cs336 {

/// Consecutive blocks of the forward pass, some of whose values the backward pass computes again.
class RecomputedSpan {
public:
  /// `forward` are all operations of the forward pass. `mayRepeat` selects among the operations of the blocks that can
  /// be repeated; the results of all others are kept.
  RecomputedSpan(llvm::ArrayRef<ProgramBlock> blocks, const llvm::DenseSet<mlir::Operation *> &forward,
                 llvm::function_ref<bool(mlir::Operation *)> mayRepeat);

  /// Returns the number of values that the backward pass reads and that are not kept.
  size_t getNumDropped() const { return dropped.size(); }
  /// Returns the operations that compute these values from kept ones.
  const llvm::DenseSet<mlir::Operation *> &getCopied() const { return copied; }
  /// Returns the bytes of the tensors that store the dropped values. Views have no memory of their own.
  int64_t getDroppedBytes() const;
  /// Returns the FLOPs of the copied operations. Saturates.
  int64_t getFlops() const;

  /// Makes the backward pass read copies of the dropped values, right before the first of these reads. There must be
  /// dropped values.
  void recompute() const;

private:
  /// Returns whether `value` is available in the backward pass without recomputation.
  bool isKept(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> mayRepeat) const;
  bool isReadByBackward(mlir::Value value) const;

  llvm::ArrayRef<ProgramBlock> blocks;
  const llvm::DenseSet<mlir::Operation *> &forward;
  llvm::DenseSet<mlir::Operation *> operations;
  llvm::SmallVector<mlir::Value> dropped;
  llvm::DenseSet<mlir::Operation *> copied;
  /// The kept values that the copied operations read.
  llvm::SetVector<mlir::Value> sources;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTEDSPAN_H
