//===- RecomputationLadder.h - What is computed again first -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONLADDER_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONLADDER_H

#include "RepeatedBlocks.h"

namespace cs336 {

/// The order in which the operations of equal blocks are added to those that the backward pass computes again, from the
/// cheapest per byte of memory to the most expensive. Each rung includes the rungs below it:
///
/// - rung 0: none;
/// - rung 1: element-wise and layout operations, which read and write memory once or not at all;
/// - one rung per GEMM, by FLOPs per byte of its result, which is the length of its sums;
/// - one rung of everything else except attention: row reductions, whose results are small;
/// - the last rung: attention, which takes the most time per byte, because its kernels reach about half of the FLOP
///   rate of GEMMs.
///
/// If the blocks have no operation for a rung, the rung is left out. Operations whose results the backward pass does
/// not require are on no rung.
class RecomputationLadder {
public:
  /// `forward` are all operations of the forward pass. The blocks are equal (see findRepeatedBlocks), and there is at
  /// least one.
  RecomputationLadder(llvm::ArrayRef<ProgramBlock> blocks, const llvm::DenseSet<mlir::Operation *> &forward);

  /// Returns the number of rungs above rung 0.
  size_t getNumRungs() const { return numRungs; }
  /// Returns whether the rung includes the operation, which belongs to one of the blocks.
  bool includes(size_t rung, mlir::Operation *op) const;

private:
  size_t numRungs = 0;
  /// The lowest rung that includes the operation.
  llvm::DenseMap<mlir::Operation *, size_t> rungs;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTATIONLADDER_H
