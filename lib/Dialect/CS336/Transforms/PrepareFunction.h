//===- PrepareFunction.h - What is computed once after loading --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_PREPAREFUNCTION_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_PREPAREFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace cs336 {

/// The module's function of mode prepare, which grows by one result a derived value. A module that has none gets one
/// with the first value.
class PrepareFunction {
public:
  explicit PrepareFunction(mlir::ModuleOp module);

  /// Returns whether the function returns a derived value called `name`.
  bool returns(llvm::StringRef name) const { return names.contains(name); }
  /// At the function's end, which is where what computes new values belongs.
  mlir::OpBuilder getBuilder();
  /// The argument with the name that `port` says, added if there is none.
  mlir::Value getArgument(mlir::Type type, mlir::DictionaryAttr port, mlir::Location loc);
  /// Makes the function return `value`, which it computes, as the derived value `name`.
  void addResult(mlir::Value value, llvm::StringRef name);
  /// Writes the function's type, arguments and results. Nothing is added afterwards.
  void finish();

private:
  mlir::func::FuncOp getFunction();

  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> arguments;
  llvm::SmallVector<mlir::DictionaryAttr> argumentPorts;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> ports;
  llvm::StringSet<> names;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_PREPAREFUNCTION_H
