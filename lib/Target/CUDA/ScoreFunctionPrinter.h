//===- ScoreFunctionPrinter.h - Scalar code as CUDA C++ ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCOREFUNCTIONPRINTER_H
#define CS336_LIB_TARGET_CUDA_SCOREFUNCTIONPRINTER_H

#include "Expression.h"
#include "cs336/Target/CUDA/KernelSchedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace cs336::cuda {

/// Prints the scalar code of a score function (lowerScoreToScalars). Its arguments have the names `score`, `batch`,
/// `head`, `query` and `key`; tables have the names of the kernel's operands.
class ScoreFunctionPrinter {
public:
  /// `tables` are the kernel's operands for the tables. `isRough` allows approximate functions.
  ScoreFunctionPrinter(const DeviceKernel &kernel, llvm::ArrayRef<unsigned> tables, bool isRough)
      : kernel(kernel), tables(tables), isRough(isRough) {}

  /// Writes a member function of the structure `Score`.
  void printFunction(llvm::raw_ostream &os, mlir::func::FuncOp scalars, llvm::StringRef name, bool returnsDerivative);

  /// Returns the value as one expression, or nullopt if the text would be long. Does not use variables.
  std::optional<Expression> printValue(mlir::Value value) const;

private:
  using LookUp = llvm::function_ref<Expression(mlir::Value)>;

  Expression printOperation(mlir::Operation *op, LookUp lookUp) const;
  Expression printExtract(mlir::tensor::ExtractOp op, LookUp lookUp) const;
  void printStatement(llvm::raw_ostream &os, mlir::Operation *op);

  const DeviceKernel &kernel;
  llvm::ArrayRef<unsigned> tables;
  bool isRough;
  llvm::DenseMap<mlir::Value, Expression> expressions;
  unsigned numVariables = 0;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCOREFUNCTIONPRINTER_H
