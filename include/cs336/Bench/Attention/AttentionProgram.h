//===- AttentionProgram.h - Attention alone, as programs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H
#define CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H

#include "cs336/Bench/Attention/AttentionScore.h"
#include "cs336/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace cs336::bench {

/// Self-attention of random queries, keys and values, or a part of it.
struct AttentionCase {
  /// The whole attention; or only the softmax of the scores, [batch, queries, length] or [batch, heads, queries,
  /// length].
  enum class Part { Whole, Scores };

  int64_t batchSize = 8;
  /// With 1, tensors have no axis of heads: [batch, length, head_dim]. Otherwise they are [batch, length, heads,
  /// head_dim], with the transposes of a model's head split and merge.
  int64_t numHeads = 1;
  /// `length` is the number of keys, and of queries unless some keys are cached.
  int64_t length = 0, headDim = 0;
  bool isCausal = false;
  ComputeType computeType = ComputeType::FP32;
  Part part = Part::Whole;
  /// Applied to the scaled scores. `score.form->check` must accept the case.
  AttentionScore score = {};

  /// "whole", "scores".
  llvm::StringRef getPartName() const { return part == Part::Whole ? "whole" : "scores"; }

  /// Returns the number of queries: those of the positions after the cached ones.
  int64_t getQueries() const { return length - score.form->getCachedKeys(score.number); }

  bool operator==(const AttentionCase &) const = default;

  /// Returns 4·B·H·D times the visible pairs (ScoreForm::countPairs), or half of it for scores. The backward pass takes
  /// 2.5 times as many FLOPs, and for scores twice as many.
  double getForwardFlops() const;
  double getBackwardFlops() const { return (part == Part::Whole ? 2.5 : 2.0) * getForwardFlops(); }
};

/// Appends @forward(q, k, v) -> o to the module, in primitives as in a script: a matmul, a scale, a score function, a
/// mask, a softmax with its maximum, a matmul. q, k and v are parameters in the type's own storage. The tensor that a
/// score function reads (ScoreForm::getState) is state, and zero until it is set. Scores have no v and no last matmul.
void buildAttentionForward(const AttentionCase &attention, mlir::ModuleOp module);

/// Appends @loss(q, k, v, weights) -> Σ o·weights, and @forward_backward of the same loss, whose gradients passes add.
/// `weights` is the gradient of o. It is state and not an input, so that no step copies it: the time of
/// @forward_backward minus the time of @loss is the time of the backward pass.
void buildAttentionBackward(const AttentionCase &attention, mlir::ModuleOp module);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H
