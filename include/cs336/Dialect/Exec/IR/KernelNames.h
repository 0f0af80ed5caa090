//===- KernelNames.h - What kernels are called -------------------*- C++ -*-===//
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

/// What the operations of a kernel compute: the names of the first of them, without those that only arrange indices
/// ("sigmoid_mul").
std::string describeOperations(llvm::ArrayRef<mlir::Operation *> operations);

/// Calls the kernel after a description and a hash of its text ("sigmoid_mul_3f2a"), the same wherever and however
/// often the program is compiled, so that equal kernels have equal names in every module.
void nameByContents(KernelOp kernel, llvm::StringRef description);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_KERNELNAMES_H
