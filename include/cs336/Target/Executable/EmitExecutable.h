//===- EmitExecutable.h - Planned exec IR as an executable file -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_EXECUTABLE_EMITEXECUTABLE_H
#define CS336_TARGET_EXECUTABLE_EMITEXECUTABLE_H

#include "cs336/Target/CompiledKernels.h"
#include "cs336/runtime/format/Executable_generated.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace cs336 {

/// Returns the bytes of a .cs336x file (runtime/format/Executable.fbs) with the module's variables and entries, and
/// `kernels`, the machine code. Buffers that no command uses are left out; streams and events are numbered from 0 in
/// order of first use.
///
/// Fails with a diagnostic if the module has no entry, an entry has no memory plan (`--exec-plan-memory`), or
/// `kernels` lacks a kernel that is launched.
mlir::FailureOr<std::vector<uint8_t>> emitExecutable(mlir::ModuleOp module, const CompiledKernels &kernels);

/// Returns the program of such a file before its kernels are compiled: variables, entries with their commands and
/// memory plans, and kernels that have only names. Launches have the workspaces of the plan. The program cannot be
/// loaded. Fails like `emitExecutable`.
mlir::FailureOr<format::ExecutableT> describeProgram(mlir::ModuleOp module, Target target);

} // namespace cs336

#endif // CS336_TARGET_EXECUTABLE_EMITEXECUTABLE_H
