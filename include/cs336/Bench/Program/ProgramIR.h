//===- ProgramIR.h - Programs in contexts of their own ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRAM_PROGRAMIR_H
#define CS336_BENCH_PROGRAM_PROGRAMIR_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Frontend/ModelDescription.h"
#include "cs336/runtime/Executable.h"
#include "mlir/IR/BuiltinOps.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace cs336::bench {

/// Fills a module in a new context with `build`, and passes it to `use`. Returns INVALID_ARGUMENT with the diagnostics
/// if the module is invalid or `use` fails. `warn` receives warnings.
absl::Status withProgram(llvm::function_ref<void(mlir::ModuleOp)> build, llvm::function_ref<void(llvm::StringRef)> warn,
                         llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

/// As `withProgram`, for the model's IR.
absl::Status withModelIR(const ModelDescription &description, llvm::function_ref<void(llvm::StringRef)> warn,
                         llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

/// As `withModelIR`, with the options that tuned schedules and the memory budget of `options` lead to. Returns
/// RESOURCE_EXHAUSTED with the smallest budget that works, without a call of `use`, if nothing meets the budget.
absl::Status withFittedModelIR(const ModelDescription &description, const CompileOptions &options,
                               llvm::function_ref<void(llvm::StringRef)> warn,
                               llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp, const CompileOptions &)> use);

/// As `withProgram`, for IR that is given as text. `name` is its file in locations.
absl::Status withIR(llvm::StringRef text, llvm::function_ref<void(llvm::StringRef)> warn,
                    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use, llvm::StringRef name = "");

/// Compiles the module that `build` fills. Errors as `withProgram`; warnings go to the standard error stream.
absl::StatusOr<std::shared_ptr<const runtime::Executable>>
compileProgram(llvm::function_ref<void(mlir::ModuleOp)> build, const CompileOptions &options);

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRAM_PROGRAMIR_H
