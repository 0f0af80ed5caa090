//===- RecomputableBlocks.h - Layers to compute again -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTABLEBLOCKS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTABLEBLOCKS_H

#include "RepeatedBlocks.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace cs336 {

/// The repeated blocks of a function's forward pass, which its backward pass may compute again.
struct RecomputableBlocks {
  /// All operations of the forward pass.
  llvm::DenseSet<mlir::Operation *> forward;
  /// At least one.
  llvm::SmallVector<ProgramBlock> blocks;

  /// Returns nullopt if the function has none, and emits a remark with these options that gives the reason.
  static std::optional<RecomputableBlocks> find(mlir::func::FuncOp function, const RemarkOptions &remarkOptions);
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_MEMORY_RECOMPUTABLEBLOCKS_H
