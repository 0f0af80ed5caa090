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

/// The module's function of mode prepare, with one result per derived value. It is created with the first derived
/// value.
class PrepareFunction {
public:
  explicit PrepareFunction(mlir::ModuleOp module);

  /// Returns whether the function returns a derived value called `name`.
  bool returns(llvm::StringRef name) const { return names.contains(name); }
  /// Returns a builder at the function's end, where operations that compute new values are inserted.
  mlir::OpBuilder getBuilder();
  /// Returns the argument with the name of `port`, which is added if it does not exist.
  mlir::Value getArgument(mlir::Type type, mlir::DictionaryAttr port, mlir::Location loc);
  /// Adds `value`, which the function computes, as the result for the derived value `name`. `value` is one of `shards`
  /// parts, or the whole.
  void addResult(mlir::Value value, llvm::StringRef name, int64_t shards = 1);
  /// Writes the function's type, arguments and results. Must be the last call.
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
