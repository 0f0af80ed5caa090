//===- ShardParameters.h - Parameters as parts, one per rank ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_SHARDPARAMETERS_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_SHARDPARAMETERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace cs336 {

/// The division of parameters, and the position of their gathers.
struct Sharding {
  /// The number of ranks, at least 2. Each has one part of every sharded parameter.
  int64_t worldSize;
  /// True if the backward pass gathers the parameters again, so that their memory is free between their uses.
  bool gatherAgain;
  /// Layers between the position of a gather and its first use, not negative.
  int64_t prefetch;
  /// Maximum number of layers that one collective gathers, at least 1.
  int64_t layersPerGather;
};

/// The parameters that were sharded, and the operations that gather them.
struct ShardedParameters {
  llvm::StringSet<> names;
  /// Parameters that all ranks keep whole: vectors, scalars and integers, and those with rows that the ranks do not
  /// divide.
  int64_t numSmall = 0, numIndivisible = 0;
  int64_t numGathers = 0;
  /// Bytes of all gathered values.
  int64_t gatheredBytes = 0;
};

/// Returns whether ranks can divide the rows of a floating-point matrix, or of a tensor of higher rank.
bool isShardable(mlir::RankedTensorType type, int64_t ranks);

/// Divides the parameters of a function of one block among the ranks: each shardable parameter becomes its part, and
/// operations read an all-gather of it. A parameter that an operation reads in a narrower type is gathered in that
/// type. Parameters of one layer whose first uses follow each other are gathered by one collective, which may also
/// gather following layers: at most a quarter as many as are gathered before it, so that the first layers are not
/// delayed. Parameters that are parts already do not change.
///
/// Fails with a diagnostic if the function returns the new value of such a parameter.
mlir::FailureOr<ShardedParameters> shardParameters(mlir::func::FuncOp function, const Sharding &sharding);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_TRAINING_SHARDPARAMETERS_H
