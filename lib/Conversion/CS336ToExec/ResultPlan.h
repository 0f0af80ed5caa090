//===- ResultPlan.h - Destinations of a function's results ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_RESULTPLAN_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_RESULTPLAN_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace cs336 {

/// A value that the caller receives.
struct OutputResult {
  mlir::Value value;
  mlir::Value storage;
  bool isWritten = false;
};

/// The new value of a variable.
struct VariableResult {
  mlir::Value value;
  mlir::Value storage;
  /// The function's argument with the old value; null if it has none.
  mlir::Value oldValue;
  bool isWritten = false;
};

/// The results of a function, and whether each has been written to its destination.
class ResultPlan {
public:
  void addOutput(mlir::Value value, mlir::Value storage);
  void addVariable(mlir::Value value, mlir::Value storage, mlir::Value oldValue);

  llvm::MutableArrayRef<OutputResult> getOutputs() { return outputs; }
  llvm::MutableArrayRef<VariableResult> getVariables() { return variables; }

  /// Returns the first output that `value` is written to, or null.
  OutputResult *findOutput(mlir::Value value);
  VariableResult *findVariable(mlir::Value value);

private:
  llvm::SmallVector<OutputResult> outputs;
  llvm::SmallVector<VariableResult> variables;
  llvm::DenseMap<mlir::Value, unsigned> outputOf, variableOf;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_RESULTPLAN_H
