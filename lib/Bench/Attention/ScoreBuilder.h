//===- ScoreBuilder.h - Operations between scale and softmax ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_SCOREBUILDER_H
#define CS336_BENCH_ATTENTION_SCOREBUILDER_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cs336::bench {

/// Builds operations on scores: [batch, queries, keys] or [batch, heads, queries, keys].
class ScoreBuilder {
public:
  /// `state` is null if the score function reads no state.
  ScoreBuilder(mlir::ImplicitLocOpBuilder &builder, mlir::Value scores, mlir::Value state, int64_t firstQuery);

  mlir::ImplicitLocOpBuilder &getBuilder() { return builder; }
  mlir::RankedTensorType getType() const { return type; }
  mlir::Value getScores() const { return scores; }
  void setScores(mlir::Value value) { scores = value; }
  mlir::Value getState() const { return state; }

  /// Return the positions of queries and of keys, i32 of [queries, keys].
  mlir::Value getQueries();
  mlir::Value getKeys() { return getPositions(1); }
  /// Returns a number of the scores' type and shape.
  mlir::Value makeNumber(double number);

  /// Repeats a value of [queries, keys] along batches and heads.
  mlir::Value spreadPairs(mlir::Value value);
  /// Repeats a value of [heads], or of [1] if scores have no heads, along the other axes.
  mlir::Value spreadHeads(mlir::Value value);
  /// Repeats a value of [queries, keys, heads], or of [queries, keys, 1] if scores have no heads, along batches.
  mlir::Value spreadRows(mlir::Value value);
  /// Repeats a value of [batch, queries] along heads and keys.
  mlir::Value spreadQueries(mlir::Value value);
  /// Repeats a value of [batch, keys] along heads and queries.
  mlir::Value spreadKeys(mlir::Value value);

  /// Returns where a key is not after the query, i1 of [queries, keys].
  mlir::Value buildCausal();
  /// Hides scores where `visible`, i1 of [queries, keys] or of the scores' shape, is false.
  void hide(mlir::Value visible);

private:
  mlir::Value getPositions(int64_t axis);
  mlir::Value spread(mlir::Value value, llvm::ArrayRef<int64_t> axes);

  mlir::ImplicitLocOpBuilder &builder;
  mlir::Value scores, state;
  mlir::RankedTensorType type;
  /// The position of the first query. That of the first key is 0.
  int64_t firstQuery;
};

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_SCOREBUILDER_H
