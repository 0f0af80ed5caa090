//===- FunctionBuilder.h - A program, operation by operation ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRAM_FUNCTIONBUILDER_H
#define CS336_BENCH_PROGRAM_FUNCTIONBUILDER_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cs336::bench {

/// Builds one function of a program: the entry of a mode, with named arguments and results. Operations are created with
/// `getBuilder`.
class FunctionBuilder {
public:
  /// Appends @`mode` to the module.
  FunctionBuilder(mlir::ModuleOp module, Mode mode);

  mlir::ImplicitLocOpBuilder &getBuilder() { return builder; }

  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type);
  /// Adds a variable of normal random numbers. `kind` is "parameter" or "state".
  mlir::Value addVariable(llvm::StringRef name, llvm::StringRef kind, mlir::RankedTensorType type);
  /// Adds state that is zero until the session sets it.
  mlir::Value addState(llvm::StringRef name, mlir::RankedTensorType type);
  /// Sets the location of the following operations: the part of the model called `source`.
  void at(const llvm::Twine &source);
  /// Ends the function. It returns these values under these names.
  void finish(llvm::ArrayRef<std::pair<std::string, mlir::Value>> outputs);

private:
  mlir::Value addArgument(mlir::RankedTensorType type, llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value addInitialized(llvm::StringRef name, llvm::StringRef kind, mlir::RankedTensorType type, InitAttr init);
  mlir::NamedAttribute makeText(llvm::StringRef attribute, llvm::StringRef value);

  mlir::ImplicitLocOpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Block *body;
  std::vector<mlir::DictionaryAttr> attributes; // The attributes of the arguments.
};

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRAM_FUNCTIONBUILDER_H
