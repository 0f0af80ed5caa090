//===- AttentionMatcher.h - Attention written as primitives -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ATTENTIONMATCHER_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ATTENTIONMATCHER_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include <string>
#include <variant>

namespace cs336 {

/// softmax(f(scale · Q Kᵀ), masked) V.
struct AttentionMatch {
  /// The most operations that f has: far more than models have, and few enough for recursion.
  static constexpr size_t kMostChained = 256;

  /// Q Kᵀ, and the matmul with V.
  MatmulOp scores, values;
  double scale = 1;
  bool isCausal = false;
  /// The value that is scale · Q Kᵀ, and the one that is f of it, before the causal mask. Null if f is the identity.
  mlir::Value functionInput, functionResult;
  /// A softmax that is one operation, if its own scale or mask is part of f: it applies them last.
  SoftmaxOp softmax;
  /// The operations from the scores to the probabilities. No other operation uses their results.
  llvm::SmallVector<mlir::Operation *> chain;
};

/// A candidate that is not an attention, or that cannot be fused.
struct AttentionRefusal {
  /// The operation with the reason, and the name of this kind of reason.
  mlir::Operation *op;
  llvm::StringRef name;
  std::string reason;
};

/// Returns whether a score function can compute `op`: an element-wise operation, or an activation, which a score
/// function contains as its formula.
bool isScoreOperation(mlir::Operation *op);

/// Matches the attention whose probabilities `op` computes as its last step. Returns monostate if `op` does not end a
/// softmax, or if no matmul uses the softmax's result.
std::variant<std::monostate, AttentionMatch, AttentionRefusal> matchAttention(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ATTENTIONMATCHER_H
