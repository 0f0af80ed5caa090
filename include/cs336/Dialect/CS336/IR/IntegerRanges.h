//===- IntegerRanges.h - Ranges of the integers in tensors ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is one range for all elements of a tensor. It follows from the ranges that operations infer for their results
// (mlir::InferIntRangeInterface). Ranges are computed on demand, from the operations that compute the value, since few
// programs need them, and only for few values.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_INTEGERRANGES_H
#define CS336_DIALECT_CS336_IR_INTEGERRANGES_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// Attaches mlir::InferIntRangeInterface to the dialect's operations on integers.
void attachIntegerRangeModels(mlir::MLIRContext &context);

/// Returns true if all integers of the range are in [0, bound).
bool isWithin(const mlir::IntegerValueRange &range, int64_t bound);

/// Returns the integers of `type`'s width in [0, bound).
mlir::ConstantIntRanges getRangeBelow(mlir::Type type, int64_t bound);

/// Computes ranges and stores them. The values must not change during the life of the object.
class IntegerRanges {
public:
  /// Returns the range of an argument of a function or a kernel.
  using ArgumentRanges = llvm::function_ref<mlir::IntegerValueRange(mlir::BlockArgument)>;

  /// `argumentRanges` must outlive the object.
  explicit IntegerRanges(ArgumentRanges argumentRanges) : argumentRanges(argumentRanges) {}

  /// Returns the range of a value's elements. The range has no value if the integers are unknown, so that even a clamp
  /// does not bound them: converting a number outside the integer type's range gives no particular integer.
  mlir::IntegerValueRange get(mlir::Value value);

  /// Sets the range of a value whose operation has no InferIntRangeInterface. Call it before the first `get`.
  void set(mlir::Value value, const mlir::ConstantIntRanges &range) { known[value] = mlir::IntegerValueRange(range); }

private:
  mlir::IntegerValueRange infer(mlir::Value value) const;
  mlir::IntegerValueRange lookUp(mlir::Value value) const;

  ArgumentRanges argumentRanges;
  llvm::DenseMap<mlir::Value, mlir::IntegerValueRange> known;
};

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_INTEGERRANGES_H
