//===- ScoreMover.h - From tensors to a score function ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SCOREMOVER_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SCOREMOVER_H

#include "AttentionMatcher.h"
#include "cs336/Dialect/CS336/IR/LinearIndex.h"

#include <map>

namespace cs336 {

/// Builds the score function of a match: copies the computation of the scores, on tensors of [..., queries, keys], to
/// one of a single score. Indices are computed again from the place of the score. Other values that do not depend on
/// scores become tables: those that something else than element-wise operations computes, numbers that do not depend on
/// both query and key, and what would change if it were computed without the program's roundings.
class ScoreMover {
public:
  /// Builds layout operations on tables with `outer`. The first `numBatchAxes` leading axes of scores are batch axes,
  /// and the others are heads.
  ScoreMover(const AttentionMatch &match, size_t numBatchAxes, mlir::OpBuilder &outer);

  /// Fills the region and returns its tables.
  llvm::SmallVector<mlir::Value> build(mlir::Region &region);

private:
  /// For each axis of a tensor, the axis of scores with the same index, or nullopt for an axis of size 1.
  using Axes = llvm::SmallVector<std::optional<int64_t>>;

  Axes getAllAxes(int64_t rank) const;
  mlir::Value move(mlir::Value value, const Axes &axes);
  mlir::Value copy(mlir::Value value, const Axes &axes);
  mlir::Value copyMask(mlir::Operation *op, const Axes &axes);
  mlir::Value copyConstant(mlir::Value value);
  mlir::Value copyIota(IotaOp op, const Axes &axes);
  mlir::Value copyEmbedding(EmbeddingOp op, const Axes &axes);
  mlir::Value copyScalar(mlir::Operation *op, const Axes &axes);
  mlir::Value copyOperation(mlir::Operation *op, const Axes &axes);

  /// Returns the number that a value of the function is, if arithmetic in its type gives it without rounding.
  std::optional<LinearIndex> getNumber(mlir::Value copied);
  std::optional<LinearIndex> inferNumber(mlir::Value copied);
  /// Returns whether `copied` is an integer that both the element type of the program's value and that of scores have.
  bool isExact(mlir::Value value, mlir::Value copied);

  /// Returns a value of the function that is the element of `tensor`, which becomes a table.
  mlir::Value readTable(mlir::Value tensor, Axes axes);
  mlir::Value readElement(mlir::Value tensor, mlir::ValueRange indices);
  mlir::Value getTable(mlir::Value tensor);
  /// Erases tables that only operands of other tables used: an operation becomes a table after its operands were moved.
  void eraseUnusedTables();

  bool isTable(mlir::Value value, const Axes &axes) const;
  /// Returns the index of scores along an axis, or null if several axes share it.
  mlir::Value getIndex(int64_t axis) const;
  /// Returns the axes of scores that share an index with `axis`.
  std::pair<int64_t, int64_t> getGroup(int64_t axis) const;
  mlir::RankedTensorType getScalarType(mlir::Type type) const;
  mlir::Value convert(mlir::Value value, mlir::Type element);

  const AttentionMatch &match;
  int64_t numBatchAxes;
  mlir::OpBuilder &outer, inner;
  mlir::Location loc;
  llvm::SmallVector<int64_t> shape;
  /// The element type of scores in the program, and in the function, where a narrow type is float32.
  mlir::FloatType scoreType, compute;
  mlir::Block *function = nullptr;
  llvm::SmallVector<mlir::Value> tables;
  std::map<std::pair<void *, std::vector<int64_t>>, mlir::Value> moved;
  llvm::DenseMap<mlir::Value, std::optional<LinearIndex>> numbers;
  /// Values of the function that the program rounds to the type of scores, and the function does not.
  llvm::DenseSet<mlir::Value> unrounded;
  /// The number of operations from the result to the one that is copied. What lies deeper, and cannot depend on scores,
  /// is a table.
  size_t depth = 0;
  static constexpr size_t kMostDepth = 2 * AttentionMatch::kMostChained;
};

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_SCOREMOVER_H
