//===- KernelNames.h - Names of kernels -------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_KERNELNAMES_H
#define CS336_DIALECT_EXEC_IR_KERNELNAMES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

#include <string>

namespace cs336::exec {

/// Describes the computation of a kernel by the names of its first operations ("sigmoid_mul"). Operations that only
/// arrange indices are left out.
std::string describeOperations(llvm::ArrayRef<mlir::Operation *> operations);

/// Names the kernel by a description and a hash of its text ("sigmoid_mul_3f2a"). The name depends on nothing else, so
/// that equal kernels have equal names in every module and every compilation.
void nameByContents(KernelOp kernel, llvm::StringRef description);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_KERNELNAMES_H
