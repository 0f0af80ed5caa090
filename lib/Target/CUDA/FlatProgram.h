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
#include <vector>

namespace cs336::cuda {

/// Splits a kernel into parts that share no computed values and no loads except for single elements. Returns the
/// outputs of each part, in the order of their first outputs.
llvm::SmallVector<DeviceKernel> splitIndependentOutputs(const DeviceKernel &kernel);

/// A program of one dimension: an element-wise one, or one that reduces to single elements. It reads of every operand
/// either the element at the same offset or the only element, so that it does not depend on shapes.
struct FlatProgram {
  KernelProgram program;
  /// The operands that are used, in order of the first use.
  llvm::SmallVector<unsigned> operands;
  /// For each operand: true if it is one element that all threads read.
  llvm::SmallVector<bool> isScalar;
  /// The program without the number of elements and the operands' numbers, as numbers and as addresses of types,
  /// attributes and names of operations: programs of equal form do the same computation on different buffers.
  std::vector<const void *> form;

  int64_t getNumElements() const { return program.extents.front(); }

  /// Reads a part that `splitIndependentOutputs` cannot split further. On failure `whyNot` completes the sentence "it
  /// …".
  static mlir::FailureOr<FlatProgram> read(const DeviceKernel &kernel, std::string &whyNot);
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_FLATPROGRAM_H
