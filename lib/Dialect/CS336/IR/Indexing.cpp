//===- Indexing.cpp - Operations that take indices ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"

using namespace mlir;
using namespace cs336;

SmallVector<IndexUse> EmbeddingOp::getIndexUses() {
  return {{getIdsMutable().getOperandNumber(), getTable().getType().getDimSize(0), "rows of its table"}};
}

SmallVector<IndexUse> EmbeddingGradOp::getIndexUses() {
  return {{getIdsMutable().getOperandNumber(), getResult().getType().getDimSize(0), "rows of its result"}};
}

/// Returns the targets. A target outside the classes would select no logit, and the loss would be wrong without an
/// error.
SmallVector<IndexUse> CrossEntropyOp::getIndexUses() {
  return {{getTargetsMutable().getOperandNumber(), getLogits().getType().getShape().back(), "classes of its logits"}};
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult CheckBoundOp::verify() {
  if (static_cast<int64_t>(getBound()) < 1)
    return emitOpError() << "bound must be at least 1, is " << static_cast<int64_t>(getBound());
  return success();
}

int64_t CheckBoundOp::getFlops() { return 0; }
