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

/// softmax(scale · Q Kᵀ, masked) V.
struct AttentionMatch {
  /// Q Kᵀ, and the product with V.
  MatmulOp scores, values;
  double scale = 1;
  bool isCausal = false;
  /// What computes from the scores to the probabilities; nothing else uses it.
  llvm::SmallVector<mlir::Operation *> chain;
};

/// What looks like attention and is not, or cannot be fused.
struct AttentionRefusal {
  /// Where, and a name for the kind of reason.
  mlir::Operation *op;
  llvm::StringRef name;
  std::string reason;
};

/// Matches the attention whose probabilities `op` computes as its last step. Nothing where `op` ends no softmax, or one
/// whose result multiplies no matrix.
std::variant<std::monostate, AttentionMatch, AttentionRefusal> matchAttention(mlir::Operation *op);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_RECOGNITION_ATTENTIONMATCHER_H
