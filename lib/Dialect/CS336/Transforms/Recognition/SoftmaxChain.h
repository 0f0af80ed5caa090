//===- SoftmaxChain.h - A softmax written as primitives ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SOFTMAXCHAIN_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SOFTMAXCHAIN_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"
#include <string>
#include <variant>

namespace cs336 {

/// A softmax y = e/Σe or e·(1/Σe), with e = exp(z − max z), where maximum and sum are over the last axis. In a
/// differentiated program, also its gradient: dz = e·(a − Σ a·y) with a = dy/Σe. If the maximum has a gradient too, the
/// elements that attain it share −Σ dz, which is zero except for rounding.
struct SoftmaxChain {
  /// z and y.
  mlir::Value input, result;
  /// dy and dz. Null without gradient.
  mlir::Value resultGradient, inputGradient;
  /// All operations from z to y and from dy to dz.
  llvm::SetVector<mlir::Operation *> operations;
};

/// The reason why a chain that resembles a softmax is not one.
struct SoftmaxRefusal {
  std::string reason;
};

/// Matches a softmax that ends with `op`. Returns monostate if `op` does not divide exponentials by a sum.
std::variant<std::monostate, SoftmaxChain, SoftmaxRefusal> matchSoftmax(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SOFTMAXCHAIN_H
