//===- EraseDead.h - What a rewrite leaves behind ---------------*- C++ -*-===//
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

/// Erases those of `ops` that nothing uses, and what only they used. `willErase` is told each before.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops, llvm::function_ref<void(mlir::Operation *)> willErase = {});

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ERASEDEAD_H
