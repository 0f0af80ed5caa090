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

/// The rows of gradients that each rank needs.
enum class PartsOf { OwnRows, AllRows };

/// The sums, and the collective whose results they add.
struct PartSums {
  llvm::SmallVector<mlir::Value> sums;
  CollectiveOp collective;
};

/// Exchanges gradients in one collective, at the builder's insertion point, and adds those of all ranks in float32, in
/// the order of ranks. With OwnRows, each rank gets its rows of all gradients, and the sums are [rows/ranks, …];
/// `ranks` must divide the rows. With AllRows, each rank gets all gradients, and the sums are [rows, …].
///
/// A reduction computes the same by a kernel. The sums can be fused with what reads them, and copy engines exchange the
/// gradients while the kernels of updates occupy all multiprocessors. Until it is read, a sum takes the memory of a
/// whole gradient, or of `ranks` gradients.
PartSums exchangeParts(mlir::OpBuilder &builder, llvm::StringRef name, llvm::ArrayRef<mlir::Value> gradients,
                       int64_t ranks, PartsOf partsOf);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_PARTEXCHANGE_H
