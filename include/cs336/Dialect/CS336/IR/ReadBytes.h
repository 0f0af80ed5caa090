//===- ReadBytes.h - Bytes that an operation reads --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_READBYTES_H
#define CS336_DIALECT_CS336_IR_READBYTES_H

#include "mlir/IR/Value.h"

namespace cs336 {

/// Returns the most bytes that the operand's owner reads of it: those of the whole tensor, except that an embedding
/// reads at most one row of its table per index.
int64_t getReadBytes(mlir::OpOperand &operand);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_READBYTES_H
