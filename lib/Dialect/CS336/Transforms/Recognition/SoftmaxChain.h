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

/// y = e/Σe or e·(1/Σe), with e = exp(z − max z), maximum and sum over the last axis. In a program that is
/// differentiated already, also what reverse mode made of it: with a = dy/Σe, dz = e·(a − Σ a·y). Where the maximum has
/// a gradient too, −Σ dz is shared by the elements that attain it: zero, but for rounding.
struct SoftmaxChain {
  /// z and y.
  mlir::Value input, result;
  /// dy and dz. Null without gradient.
  mlir::Value resultGradient, inputGradient;
  /// All operations from z to y and from dy to dz.
  llvm::SetVector<mlir::Operation *> operations;
};

/// Why something is not quite a softmax.
struct SoftmaxRefusal {
  std::string reason;
};

/// Looks for a softmax that ends with `op`. Nothing where the operation is no quotient of exponentials by a sum.
std::variant<std::monostate, SoftmaxChain, SoftmaxRefusal> matchSoftmax(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SOFTMAXCHAIN_H
