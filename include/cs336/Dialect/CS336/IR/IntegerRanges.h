//===- IntegerRanges.h - Which integers tensors can hold --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One range for all elements of a tensor, from what operations say of their results (mlir::InferIntRangeInterface).
// It is found on demand, from what computes the value, since few programs ask and those of few values.
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

/// Gives the dialect's operations on integers mlir::InferIntRangeInterface.
void attachIntegerRangeModels(mlir::MLIRContext &context);

/// Returns true if all integers of the range are in [0, bound).
bool isWithin(const mlir::IntegerValueRange &range, int64_t bound);

/// Integers of `type`'s width in [0, bound).
mlir::ConstantIntRanges getRangeBelow(mlir::Type type, int64_t bound);

/// Remembers the ranges that it finds; of values that do not change meanwhile.
class IntegerRanges {
public:
  /// The range of a function's or a kernel's argument.
  using ArgumentRanges = llvm::function_ref<mlir::IntegerValueRange(mlir::BlockArgument)>;

  /// `argumentRanges` outlives the object.
  explicit IntegerRanges(ArgumentRanges argumentRanges) : argumentRanges(argumentRanges) {}

  /// The range of a value's elements. It has no value where nothing is known of the integers, not even that clamping
  /// bounds them: a conversion of a number that the integer type does not have gives no particular integer.
  mlir::IntegerValueRange get(mlir::Value value);

private:
  mlir::IntegerValueRange infer(mlir::Value value) const;
  mlir::IntegerValueRange lookUp(mlir::Value value) const;

  ArgumentRanges argumentRanges;
  llvm::DenseMap<mlir::Value, mlir::IntegerValueRange> known;
};

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_INTEGERRANGES_H
