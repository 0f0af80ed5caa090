//===- DumpFiles.h - What --dump-dir writes ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DRIVER_COMPILE_DUMPFILES_H
#define CS336_LIB_DRIVER_COMPILE_DUMPFILES_H

#include "mlir/IR/BuiltinOps.h"

namespace cs336 {

/// Returns the folder for the IR after every pass, `folder`/passes, which is created. Emits an error if it cannot be.
llvm::FailureOr<std::string> createPassesFolder(mlir::MLIRContext *context, llvm::StringRef folder);

/// Writes planned exec IR to `folder`/planned.mlir, and to `folder`/plan.txt a table of every entry's arena: offset,
/// bytes, type and source of each buffer, in the order of offsets.
llvm::LogicalResult dumpPlan(mlir::ModuleOp module, llvm::StringRef folder);

/// Writes every kernel in linalg to `folder`/kernels.linalg.mlir.
llvm::LogicalResult dumpLinalg(mlir::ModuleOp module, llvm::StringRef folder);

/// Writes the shared object that holds the machine code of kernels on the CPU to `folder`/kernels.so.
llvm::LogicalResult dumpObject(mlir::ModuleOp module, llvm::ArrayRef<uint8_t> object, llvm::StringRef folder);

} // namespace cs336

#endif // CS336_LIB_DRIVER_COMPILE_DUMPFILES_H
