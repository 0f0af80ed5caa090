//===- ForwardOperations.cpp - The forward pass of a function -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardOperations.h"

#include "cs336/Dialect/CS336/IR/Ports.h"

using namespace mlir;
using namespace cs336;

SmallVector<Operation *> cs336::collectForwardOperations(func::FuncOp function) {
  Block &block = function.getBody().front();
  DenseSet<Operation *> needed;
  SmallVector<Value> worklist;
  for (OpOperand &result : block.getTerminator()->getOpOperands())
    if (getPortKind(function.getResultAttrDict(result.getOperandNumber())) != port::kGradient)
      worklist.push_back(result.get());
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (op && needed.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  }
  SmallVector<Operation *> forward;
  for (Operation &op : block)
    if (needed.contains(&op))
      forward.push_back(&op);
  return forward;
}

bool cs336::mayComputeAgain(func::FuncOp function, const RemarkOptions &remarkOptions) {
  auto refuse = [&](StringRef name, StringRef reason) {
    remark::missed(function.getLoc(), remarkOptions(name))
        << remark::add("nothing is computed again: @{0} {1}", function.getName(), reason);
    return false;
  };
  if (!function.getBody().hasOneBlock())
    return refuse("SeveralBlocks", "has several blocks");
  return hasResultOfKind(function, port::kGradient) || refuse("NoGradients", "computes no gradients");
}
