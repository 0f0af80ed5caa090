//===- ExpressionPrinter.h - Scalar operations as C++ -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_EXPRESSIONPRINTER_H
#define CS336_LIB_TARGET_CUDA_EXPRESSIONPRINTER_H

#include "Expression.h"
#include "mlir/IR/Operation.h"

namespace cs336::cuda {

/// Values of bf16 and f16 are computed in float: a variable of such a value is a float that the narrow type represents,
/// and every operation whose exact result might not be rounds. So extensions cost nothing, truncations are never lost,
/// and sums, products, quotients and square roots equal those of the narrow type (float has more than twice its
/// digits).
class ExpressionPrinter {
public:
  /// Returns the C++ type of elements in memory: `float`, `__nv_bfloat16`, `long long`, `bool`, …
  static llvm::StringRef getStorageType(mlir::Type type);
  /// Returns the C++ type of variables.
  static llvm::StringRef getComputeType(mlir::Type type);
  /// Returns the file of runtime/kernels that the type requires, or an empty string.
  static llvm::StringRef getDeviceSource(mlir::Type type);

  /// Returns an empty string if the operation can be printed, otherwise the end of the sentence "it …".
  static std::string whyUnknown(mlir::Operation *op);

  /// Returns zero as an element in memory.
  static Expression printZero(mlir::Type type);
  /// Returns whether the text calls functions of scalar.cuh.
  static bool usesScalarFunctions(mlir::Operation *op);
  static bool usesScalarFunctions(mlir::TypedAttr constant);

  static Expression print(mlir::Operation *op, llvm::ArrayRef<Expression> operands);
  static Expression print(mlir::TypedAttr constant);
  static Expression printChoice(const Expression &condition, const Expression &ifTrue, const Expression &ifFalse);
  /// Converts an element in memory to a variable's value, and back.
  static Expression printLoaded(mlir::Type type, const Expression &element);
  static Expression printStored(mlir::Type type, const Expression &value);
  /// Returns a word for the name of a variable with the operation's result.
  static llvm::StringRef getNoun(mlir::Operation *op);
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_EXPRESSIONPRINTER_H
