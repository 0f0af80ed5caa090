//===- AttentionProgram.h - Attention alone, as programs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H
#define CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H

#include "cs336/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace cs336::bench {

/// Self-attention of random queries, keys and values, or a part of it.
struct AttentionCase {
  /// All of it; or the softmax of the scores alone, [batch, length, length] or [batch, heads, length, length].
  enum class Part { Whole, Scores };

  int64_t batchSize = 8;
  /// 1: no heads at all, tensors [batch, length, head_dim]. More: [batch, length, heads, head_dim], transposed as a
  /// model's head split and merge are.
  int64_t numHeads = 1;
  int64_t length = 0, headDim = 0;
  bool isCausal = false;
  ComputeType computeType = ComputeType::FP32;
  Part part = Part::Whole;

  /// "whole", "scores".
  llvm::StringRef getPartName() const { return part == Part::Whole ? "whole" : "scores"; }

  bool operator==(const AttentionCase &) const = default;

  /// 4·B·H·S²·D, half of that for causal attention and for scores; backward 2.5 times as much, of scores twice.
  double getForwardFlops() const;
  double getBackwardFlops() const { return (part == Part::Whole ? 2.5 : 2.0) * getForwardFlops(); }
};

/// Appends @forward(q, k, v) -> o to the module, in primitives as in a script: a matmul, a scale, a mask, a softmax
/// with its maximum, a matmul. q, k and v are parameters in the type's own storage. Scores have no v and no last
/// matmul.
void buildAttentionForward(const AttentionCase &attention, mlir::ModuleOp module);

/// Appends @loss(q, k, v, weights) -> Σ o·weights and @forward_backward of the same, whose gradients passes make:
/// `weights` is the gradient of o, a state that no step feeds, so that what @forward_backward takes longer than @loss
/// is the backward pass.
void buildAttentionBackward(const AttentionCase &attention, mlir::ModuleOp module);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONPROGRAM_H
