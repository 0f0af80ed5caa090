//===- ProgramMemory.h - What a planned program allocates -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_PROGRAMMEMORY_H
#define CS336_DIALECT_EXEC_IR_PROGRAMMEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace cs336::exec {

/// Returns the symbols of the variables that entries other than those of mode prepare use. On a GPU all other variables
/// stay in the host's memory (Executable::StaysOnHost).
llvm::DenseSet<mlir::StringAttr> getVariablesOnDevice(mlir::ModuleOp module);

/// Returns the bytes that a session of a planned program allocates on its device, without the alignment of variables:
/// variables, the inputs of all entries, and the largest arena, which the entries share.
int64_t getProgramBytes(mlir::ModuleOp module, bool isForGPU);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_PROGRAMMEMORY_H
