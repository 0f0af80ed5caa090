//===- EraseDead.h - Erases unused operations after a rewrite ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ERASEDEAD_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ERASEDEAD_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// Erases the operations of `ops` without uses, and then operations that only these used. Calls `willErase` before
/// each.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops, llvm::function_ref<void(mlir::Operation *)> willErase = {});

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ERASEDEAD_H
