//===- Buffers.h - Types, storage and views of buffers -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_EXEC_IR_BUFFERS_H
#define CS336_DIALECT_EXEC_IR_BUFFERS_H

#include "cs336/Dialect/Exec/IR/ExecInterfaces.h"
#include "mlir/IR/Builders.h"

namespace cs336::exec {

/// Returns the type of a value that is a buffer.
inline mlir::MemRefType bufferType(mlir::Value buffer) { return llvm::cast<mlir::MemRefType>(buffer.getType()); }

/// Sizes, strides and offset of a buffer, in elements.
struct BufferLayout {
  explicit BufferLayout(mlir::MemRefType type);

  /// Returns the memref type. Row-major layouts at offset 0 have one spelling, the plain type, so that equal layouts
  /// have equal types.
  mlir::MemRefType getType() const;

  llvm::SmallVector<int64_t> sizes, strides;
  int64_t offset;
  mlir::Type elementType;
};

/// Follows views from `buffer` to its storage, and returns the operation that defines it, or null if `buffer` is not a
/// buffer of an entry.
BufferOpInterface getStorage(mlir::Value buffer);

/// Returns the bytes of dense storage of this type.
int64_t getElementBytes(mlir::Type elementType);

/// Bytes of dense storage of this type.
int64_t getStorageBytes(mlir::MemRefType type);

/// Returns whether storage of this type has an element and at most 2^48 bytes: more than any machine has, and few
/// enough that sums over a program's buffers fit into 64 bits.
bool hasUsableSize(mlir::MemRefType type);

/// Returns `type` with offset 0, as a kernel accesses the buffer.
mlir::MemRefType dropOffset(mlir::MemRefType type);

/// Returns whether the parts along axis 0 of a buffer [parts, rows, columns] are columns of a dense matrix, which has
/// parts·columns columns.
bool hasPartsOfColumns(mlir::MemRefType type);

/// Returns the type of dense row-major storage for the elements of `type`.
mlir::MemRefType getDenseType(mlir::ShapedType type);

/// Creates a view of `buffer`'s storage as `type`, whose strides and offset count from the start of the storage.
mlir::Value createView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, mlir::MemRefType type);

/// Creates a view of the rows of rank (own rank + `shift`) mod `ranks` in dense storage of the rows of all ranks.
mlir::Value createRows(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, int64_t ranks, int64_t shift);

/// Creates a copy of `buffer` in a new row-major allocation.
mlir::Value createDenseCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer);

} // namespace cs336::exec

#endif // CS336_DIALECT_EXEC_IR_BUFFERS_H
