//===- Alignment.h - Alignments that a memory plan accepts ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_TRANSFORMS_ALIGNMENT_H
#define CS336_LIB_DIALECT_EXEC_TRANSFORMS_ALIGNMENT_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"

namespace cs336::exec {

/// Reports an error at the entry unless `alignment`, in bytes, is one that `exec.entry` accepts: a power of two up to
/// 2 MiB.
mlir::LogicalResult verifyAlignment(EntryOp entry, uint64_t alignment);

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_TRANSFORMS_ALIGNMENT_H
