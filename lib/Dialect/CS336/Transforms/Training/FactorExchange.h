//===- FactorExchange.h - Gradients from all ranks' operands ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_FACTOREXCHANGE_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_FACTOREXCHANGE_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

namespace cs336 {

/// Returns whether ranks can exchange the factors of a gradient: it is leftᵀ · right [rows, columns] in bf16, of left
/// [tokens, rows] and right [tokens, columns], and has one reader.
bool hasFactors(mlir::Value gradient);

/// Returns the bytes of the factors that a rank sends, per byte of the gradient that it would send. `ranks` must divide
/// the rows of the gradient.
double getFactorRatio(MatmulOp gradient, int64_t ranks);

/// Exchanges the factors of gradients. Ranks exchange columns of the left factors (all_to_all), so that each rank gets
/// those of its rows, and gather the right ones. Each rank then computes its rows of the sum over the tokens of all
/// ranks. This takes ranks·tokens · rows/ranks · columns multiplications, as many as the gradient of its own tokens.
class FactorExchange {
public:
  /// A bucket of factors is complete when ranks send `bucketBytes` or more. Its sums are computed after the exchange of
  /// `lead` more buckets has begun. The links are then busy while a kernel that computes and applies several sums runs.
  FactorExchange(int64_t ranks, double bucketBytes, size_t lead) : ranks(ranks), bucketBytes(bucketBytes), lead(lead) {}

  /// Exchanges the factors of gradients, which are in the order in which they are ready. Returns this rank's rows of
  /// their sums, which the caller uses instead. A sum is computed a few buckets later than its factors are ready, so
  /// that the exchange overlaps with computation.
  llvm::SmallVector<mlir::Value> build(llvm::ArrayRef<MatmulOp> gradients);

  /// Gathers the rows of all ranks, in buckets of `gatherBytes`. Returns the sums.
  ///
  /// A gather follows its last sum, all exchanges of factors and the operation `after`, which may be null. Before, it
  /// would delay factors, for which updates wait. The updates of the rows of other ranks follow when all own rows are
  /// updated, and take longer than the gathers.
  llvm::SmallVector<mlir::Value> gather(llvm::ArrayRef<mlir::Value> sums, double gatherBytes, mlir::Operation *after);

  int64_t numCollectives = 0;
  /// Bytes that a rank sends.
  int64_t sentBytes = 0;

private:
  /// Exchanges the factors of a bucket after its last gradient. Returns the last operation of the exchange.
  mlir::Operation *exchange(llvm::ArrayRef<MatmulOp> bucket);
  llvm::SmallVector<mlir::Value> gatherBucket(mlir::OpBuilder &builder, llvm::StringRef name,
                                              llvm::ArrayRef<mlir::Value> sums);

  mlir::Operation *lastExchange = nullptr;
  int64_t ranks, numBuckets = 0;
  double bucketBytes;
  size_t lead;
  /// By factor of this rank: its columns for this rank's rows, of all ranks, and the factors of all ranks.
  llvm::DenseMap<mlir::Value, mlir::Value> columns, gathered;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_FACTOREXCHANGE_H
