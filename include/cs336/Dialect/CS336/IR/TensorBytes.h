//===- TensorBytes.h - Size of a tensor in memory ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_TENSORBYTES_H
#define CS336_DIALECT_CS336_IR_TENSORBYTES_H

#include "mlir/IR/Value.h"

namespace cs336 {

/// Returns the bytes of a dense tensor of static shape. An i1 takes one byte.
int64_t getTensorBytes(mlir::Value value);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_TENSORBYTES_H
