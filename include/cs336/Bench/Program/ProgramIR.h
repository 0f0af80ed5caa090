//===- ProgramIR.h - Programs in contexts of their own ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROGRAM_PROGRAMIR_H
#define CS336_BENCH_PROGRAM_PROGRAMIR_H

#include "cs336/Frontend/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"

#include "absl/status/status.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336::bench {

/// Builds the model's IR and hands it to `use`, in a context of its own. INVALID_ARGUMENT with the diagnostics if
/// either fails; `warn` hears of warnings.
absl::Status withModelIR(const ModelDescription &description, llvm::function_ref<void(llvm::StringRef)> warn,
                         llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

/// As `withModelIR`, of IR as text.
absl::Status withIR(llvm::StringRef text, llvm::function_ref<void(llvm::StringRef)> warn,
                    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> use);

} // namespace cs336::bench

#endif // CS336_BENCH_PROGRAM_PROGRAMIR_H
