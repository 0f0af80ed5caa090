//===- GradientProblem.h - Updates by gradients in one kernel ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_GRADIENTPROBLEM_H
#define CS336_LIB_TARGET_CUDA_GRADIENTPROBLEM_H

#include "Batch.h"
#include "llvm/Support/MathExtras.h"

namespace cs336::cuda {

/// A kernel with one or more members. Each computes a gradient, a matmul leftᵀ · right that the kernel does not store,
/// and an element-wise update by it. All members do the same update, on buffers of their own.
///
/// The tokens of both factors may be in two parts, one after the other, such as this rank's and those of other ranks.
struct GradientProblem {
  /// Operands for some of the tokens: left is [tokens, rows] and right is [tokens, columns] in memory, where rows may
  /// be parts of longer ones.
  struct Part {
    unsigned left, right;
    int64_t tokens;
    int64_t leftStride, rightStride;
  };
  struct Member {
    int64_t rows, columns;
    llvm::SmallVector<Part, 2> parts;
  };

  mlir::Type element;
  /// All have as many parts.
  llvm::SmallVector<Member> members;
  /// The update, in a kernel whose operand `left` of the first part is the gradient.
  Batch update;

  /// Fails without a reason if the kernel has no matmul. Otherwise `whyNot` completes the sentence "it …".
  static mlir::FailureOr<GradientProblem> read(const DeviceKernel &kernel, std::string &whyNot);

  /// A block computes `clusterBlocks` tiles of these sizes below each other at a time, as in gradient_tile.cuh.
  static constexpr int64_t rowsPerTile = 128, columnsPerTile = 256, clusterBlocks = 2;
  /// The parts that gradient_tile.cuh allows.
  static constexpr size_t mostParts = 2;
  static int64_t countTiles(const Member &member) {
    return clusterBlocks * llvm::divideCeilSigned(member.rows, clusterBlocks * rowsPerTile) *
           llvm::divideCeilSigned(member.columns, columnsPerTile);
  }
  int64_t countTiles() const {
    return llvm::sum_of(llvm::map_range(members, [](const Member &member) { return countTiles(member); }));
  }

  /// Rows and columns are multiples of this number, so that tensor maps can describe the operands as slabs.
  static constexpr int64_t slabColumns = 64;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_GRADIENTPROBLEM_H
