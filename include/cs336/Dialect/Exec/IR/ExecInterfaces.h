//===- ExecInterfaces.h - What planning and emission ask of an operation -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_EXECINTERFACES_H
#define CS336_DIALECT_EXEC_IR_EXECINTERFACES_H

#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

#include "cs336/Dialect/Exec/IR/ExecInterfaces.h.inc"

namespace cs336::exec {

/// The operation that owns the bytes of `buffer`, views followed; null if `buffer` is no buffer of an entry.
BufferOpInterface getStorage(mlir::Value buffer);

/// Bytes of an element in memory; an i1 takes one.
int64_t getElementBytes(mlir::Type elementType);

/// Bytes of dense storage of this type.
int64_t getStorageBytes(mlir::MemRefType type);

/// `type` with its offset at 0: what a kernel sees of a buffer.
mlir::MemRefType dropOffset(mlir::MemRefType type);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_EXECINTERFACES_H
