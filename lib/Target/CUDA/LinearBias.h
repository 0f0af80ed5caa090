//===- LinearBias.h - Biases linear in positions ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_LINEARBIAS_H
#define CS336_LIB_TARGET_CUDA_LINEARBIAS_H

#include "ScoreFunctionPrinter.h"

namespace cs336::cuda {

/// By how much a number changes from one query, or key, to the next: `number` times the text `factor`, which is empty
/// for 1. A step of 0 has no factor.
struct BiasStep {
  double number = 0;
  std::string factor;
};

/// A bias that a score function adds to the scaled score, and that is a linear function of query and key. Its
/// coefficients depend on the batch and the head alone. Kernels evaluate it once per tile and add constant steps
/// (runtime/kernels/warpgroup_bias.cuh).
struct LinearBias {
  BiasStep ofQuery, ofKey;

  /// Returns the bias if the first result of a function of scalars is the scaled score plus such a bias, in float32. It
  /// may be a number.
  static std::optional<LinearBias> find(mlir::func::FuncOp scalars, const ScoreFunctionPrinter &printer);
  bool hasSteps() const { return ofQuery.number != 0 || ofKey.number != 0; }
  /// Returns the text of the members of the structure `Score` that describe the bias.
  std::string print(mlir::MLIRContext *context) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_LINEARBIAS_H
