//===- PartExchange.h - Sums of gradients by their readers ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_PARTEXCHANGE_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_PARTEXCHANGE_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Sends each rank its rows of all gradients in one collective, at the builder's insertion point, and adds the parts of
/// all ranks in float32. Returns the sums [rows/ranks, …] and the collective. `ranks` must divide the rows.
///
/// A reduce-scatter computes the same by a kernel. The sums can be fused with what reads them, and copy engines
/// exchange the parts while the kernels of updates occupy all multiprocessors. Until it is read, a sum takes the memory
/// of a whole gradient.
std::pair<llvm::SmallVector<mlir::Value>, CollectiveOp>
exchangeParts(mlir::OpBuilder &builder, llvm::StringRef name, llvm::ArrayRef<mlir::Value> gradients, int64_t ranks);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_PARTEXCHANGE_H
