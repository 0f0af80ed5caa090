//===- BufferTypes.h - Which memrefs are buffers ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_EXEC_IR_BUFFERTYPES_H
#define CS336_LIB_DIALECT_EXEC_IR_BUFFERTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace cs336::exec {

/// Returns true if `type` is a memref of the dialect's elements with static sizes, strides and offset, none of them
/// negative, for which `hasRepresentableSize` of the cs336 dialect holds, and whose last element is one of the first
/// 2^48 of its storage.
bool isBuffer(mlir::Type type);

/// Returns the number of a buffer's last element, counted from the start of its storage. Sizes of 0 count as 1.
int64_t getLastElement(mlir::MemRefType type);

} // namespace cs336::exec

#endif // CS336_LIB_DIALECT_EXEC_IR_BUFFERTYPES_H
