//===- Indexing.cpp - Operations that take indices ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336IndexInterface.h"
#include "cs336/Dialect/CS336/IR/CS336IndexOps.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"

#include "cs336/Dialect/CS336/IR/CS336IndexInterface.cpp.inc"

using namespace mlir;
using namespace cs336;

namespace {
struct EmbeddingIndices : IndexingOpInterface::ExternalModel<EmbeddingIndices, EmbeddingOp> {
  SmallVector<IndexUse> getIndexUses(Operation *op) const {
    auto embedding = cast<EmbeddingOp>(op);
    return {{embedding.getIdsMutable().getOperandNumber(), embedding.getTable().getType().getDimSize(0),
             "rows of its table"}};
  }
};

struct EmbeddingGradIndices : IndexingOpInterface::ExternalModel<EmbeddingGradIndices, EmbeddingGradOp> {
  SmallVector<IndexUse> getIndexUses(Operation *op) const {
    auto gradient = cast<EmbeddingGradOp>(op);
    return {{gradient.getIdsMutable().getOperandNumber(), gradient.getResult().getType().getDimSize(0),
             "rows of its result"}};
  }
};

/// A target outside the classes would select no logit: the loss would be wrong, without an error.
struct CrossEntropyIndices : IndexingOpInterface::ExternalModel<CrossEntropyIndices, CrossEntropyOp> {
  SmallVector<IndexUse> getIndexUses(Operation *op) const {
    auto loss = cast<CrossEntropyOp>(op);
    return {{loss.getTargetsMutable().getOperandNumber(), loss.getLogits().getType().getShape().back(),
             "classes of its logits"}};
  }
};
} // namespace

void cs336::attachIndexingModels(MLIRContext &context) {
  EmbeddingOp::attachInterface<EmbeddingIndices>(context);
  EmbeddingGradOp::attachInterface<EmbeddingGradIndices>(context);
  CrossEntropyOp::attachInterface<CrossEntropyIndices>(context);
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

#define GET_OP_CLASSES
#include "cs336/Dialect/CS336/IR/CS336IndexOps.cpp.inc"
