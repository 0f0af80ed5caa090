//===- PlannedCopies.h - Trial runs of the pipeline -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DRIVER_COMPILE_PLANNEDCOPIES_H
#define CS336_LIB_DRIVER_COMPILE_PLANNEDCOPIES_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace cs336 {

/// Runs the pipeline, or its start, on copies of a module. Each copy has a context of its own, so that remarks and
/// warnings of the copies do not reach the user.
class PlannedCopies {
public:
  /// The copies are planned with `options`, without their dumps, remarks, timing and statistics.
  PlannedCopies(mlir::ModuleOp module, const CompileOptions &options);

  /// Calls `use` with a planned copy, whose pipeline has these options in addition. If the pipeline or `use` fails, the
  /// errors of the copy become an error at the module.
  llvm::LogicalResult plan(llvm::StringRef pipeline, llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

  /// Calls `use` with a copy whose functions have gradients and recompute nothing yet. Fails as `plan`.
  llvm::LogicalResult differentiate(llvm::function_ref<void(mlir::ModuleOp)> use);

private:
  /// Calls `use` with a copy. If it fails, the errors of the copy become an error at the module.
  llvm::LogicalResult withCopy(llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

  mlir::ModuleOp module;
  CompileOptions options;
  std::string bytecode;
};

} // namespace cs336

#endif // CS336_LIB_DRIVER_COMPILE_PLANNEDCOPIES_H
