//===- ResultPlan.h - Where a function's results belong -*- C++ -*-===//
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

/// A value that goes to the caller.
struct OutputResult {
  mlir::Value value;
  mlir::Value storage;
  bool isWritten = false;
};

/// The new value of a variable.
struct VariableResult {
  mlir::Value value;
  mlir::Value storage;
  /// The function's argument that holds the old value; null if it has none.
  mlir::Value oldValue;
  bool isWritten = false;
};

/// What a function returns, and whether it has been written to its place.
class ResultPlan {
public:
  void addOutput(mlir::Value value, mlir::Value storage);
  void addVariable(mlir::Value value, mlir::Value storage, mlir::Value oldValue);

  llvm::MutableArrayRef<OutputResult> getOutputs() { return outputs; }
  llvm::MutableArrayRef<VariableResult> getVariables() { return variables; }

  /// The first place that `value` goes to, or null.
  OutputResult *findOutput(mlir::Value value);
  VariableResult *findVariable(mlir::Value value);

private:
  llvm::SmallVector<OutputResult> outputs;
  llvm::SmallVector<VariableResult> variables;
  llvm::DenseMap<mlir::Value, unsigned> outputOf, variableOf;
};

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_RESULTPLAN_H
