//===- RowsKernel.h - A kernel for some of the rows -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_ROWSKERNEL_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_ROWSKERNEL_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// Returns a kernel that does the same as an element-wise kernel, on `rows` rows of its operands and results, or null
/// if the kernel is not element-wise. All its operands and results have one shape of at least one axis, or are single
/// elements, and its results are not single elements. The caller inserts the kernel into a module.
KernelOp createRowsKernel(KernelOp kernel, int64_t rows);

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_ROWSKERNEL_H
