//===- Group.h - The operations that one kernel computes -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_GROUP_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_GROUP_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace cs336 {

/// A kernel before it is outlined: its operations in order, its inputs, and numbered values. Value `i` is input `i`;
/// the results of the operations follow the inputs.
class Group {
public:
  /// Returns the group that computes `op`: the operation, or the body of a `cs336.fused`, after the operations that are
  /// rematerialized for it.
  static Group collect(mlir::Operation *op);

  mlir::Location getLoc() const { return loc; }
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }
  llvm::ArrayRef<mlir::Value> getOutputs() const { return outputs; }
  unsigned getNumber(mlir::Value value) const { return numbers.lookup(value); }

private:
  explicit Group(mlir::Location loc) : loc(loc) {}

  /// Makes `value` available in the group: rematerializes it if possible, or adds it as an input.
  void require(mlir::Value value, bool mayRematerialize);
  void append(mlir::Operation *op);
  /// Numbers the values. Numbers depend on the count of inputs, so this follows the collection of all of them.
  void numberValues();

  mlir::Location loc;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> inputs, outputs;
  /// The arguments of a fused body and the values that they stand for.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> arguments;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_GROUP_H
