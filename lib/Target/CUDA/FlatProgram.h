//===- FlatProgram.h - Programs that walk their operands in order -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_FLATPROGRAM_H
#define CS336_LIB_TARGET_CUDA_FLATPROGRAM_H

#include "KernelProgram.h"

#include <string>

namespace cs336::cuda {

/// The parts of a kernel that share neither what is computed nor what is read, but for single elements: each with its
/// outputs, in order of the first.
llvm::SmallVector<DeviceKernel> splitIndependentOutputs(const DeviceKernel &kernel);

/// A program of one dimension: a pointwise one, or one that reduces to single elements. It takes of every operand
/// either the element in the same place in memory or the only one, so that what it does says nothing of shapes.
struct FlatProgram {
  KernelProgram program;
  /// The operands that are used, in order of the first use.
  llvm::SmallVector<unsigned> operands;
  /// Of each of them: whether it is one element, the same for all.
  llvm::SmallVector<bool> isScalar;
  /// All of the program but how many elements there are and which operands they belong to: programs of equal form do
  /// the same to different buffers.
  std::string form;

  int64_t getNumElements() const { return program.extents.front(); }

  /// Reads a part that `splitIndependentOutputs` cannot split any further. On failure `whyNot` completes the sentence
  /// "it …".
  static mlir::FailureOr<FlatProgram> read(const DeviceKernel &kernel, std::string &whyNot);
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_FLATPROGRAM_H
