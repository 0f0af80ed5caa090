//===- ExchangeModel.h - Predicted times of exchanging gradients -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_EXCHANGEMODEL_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_EXCHANGEMODEL_H

#include "cs336/Cost/DeviceModel.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cs336 {

/// A collective that exchanges gradients.
struct Exchange {
  CollectiveKind kind;
  /// The bytes of all values that it exchanges.
  int64_t bytes;
  /// The operation that computes the last of these values; null for an argument.
  mlir::Operation *ready;
};

/// The predicted seconds of an exchange: of all collectives, and from the end of the computation to the end of the last
/// collective.
struct ExchangeTime {
  double communication = 0, exposed = 0;
};

/// Predicts how long ranks exchange gradients, and how much of this overlaps with the computation of a block.
///
/// Operations run one after the other. The time of a GEMM, an attention or a table is that of its FLOPs or of its
/// memory accesses, whichever is longer. Element-wise operations, reductions and layouts take no time, because a later
/// fusion decides which of their operands are in memory. Collectives run one after the other beside the operations,
/// each as soon as its values are ready, and neither slows down the other. Collectives that gather parameters are not
/// counted.
class ExchangeModel {
public:
  ExchangeModel(mlir::Block &block, const DeviceModel &device, int64_t worldSize);

  /// `exchanges` are in the order in which they run.
  ExchangeTime predict(llvm::ArrayRef<Exchange> exchanges) const;
  double getComputeSeconds() const { return computeSeconds; }
  llvm::StringRef getDevice() const { return device.name; }

private:
  const DeviceModel &device;
  int64_t worldSize;
  double computeSeconds = 0;
  /// Maps each operation to the seconds from the start of the block to its end.
  llvm::DenseMap<mlir::Operation *, double> ends;
};

/// A size of buckets, with the exchange that it causes.
struct BucketForecast {
  double bytes;
  size_t numCollectives;
  ExchangeTime time;
};

struct BucketChoice {
  /// `earliest` has the earliest predicted end. `chosen` is the largest size that ends almost as early: larger buckets
  /// have fewer collectives, whose costs for other commands the model ignores.
  BucketForecast chosen, earliest;
};

/// Chooses among powers of two of bytes, up to the first one that is not below `mostBytes`. `makeExchanges` returns the
/// collectives for a size in bytes.
BucketChoice chooseBucketSize(const ExchangeModel &model, int64_t mostBytes,
                              llvm::function_ref<llvm::SmallVector<Exchange>(double bytes)> makeExchanges);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_EXCHANGEMODEL_H
