//===- Variables.h - Storage that functions share by name -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_CONVERSION_CS336TOEXEC_VARIABLES_H
#define CS336_LIB_CONVERSION_CS336TOEXEC_VARIABLES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336 {

/// The kind and name of an argument or result of a function.
struct Port {
  llvm::StringRef kind, name;
  mlir::DictionaryAttr attributes;

  bool isVariable() const;
};

/// Return the attributes of an argument or result. The error names the missing attribute.
mlir::FailureOr<Port> getArgumentPort(mlir::func::FuncOp function, unsigned index);
mlir::FailureOr<Port> getResultPort(mlir::func::FuncOp function, unsigned index);

/// Creates an `exec.variable` for every parameter, state and derived value of `functions`, one per name, in the order
/// of their first occurrence. Fails with a diagnostic if functions disagree about a variable.
mlir::LogicalResult createVariables(llvm::ArrayRef<mlir::func::FuncOp> functions, mlir::OpBuilder &builder);

} // namespace cs336

#endif // CS336_LIB_CONVERSION_CS336TOEXEC_VARIABLES_H
