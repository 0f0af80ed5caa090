//===- LiveSet.cpp - Memory that a function holds at once -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LiveSet.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"

using namespace mlir;
using namespace cs336;

bool cs336::hasNoMemory(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return isa<ViewOpInterface>(op) || (fusible && fusible.isRematerializable());
}

Value cs336::getSource(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && hasNoMemory(op)) {
    if (op->getNumOperands() == 0)
      return nullptr;
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return value;
}

int64_t cs336::getLargestLiveSet(Block &block) {
  // In reverse order, the first reader found is the last one.
  int64_t live = 0, largest = 0;
  DenseSet<Value> met;
  for (Operation &op : llvm::reverse(block)) {
    if (hasNoMemory(&op))
      continue;
    SmallVector<Value> sources;
    for (Value operand : op.getOperands())
      sources.push_back(getSource(operand));
    for (Value value : llvm::concat<Value>(sources, op.getResults()))
      if (value && value.getDefiningOp() && met.insert(value).second)
        live = addSaturating(live, getTensorBytes(value));
    largest = std::max(largest, live);
    for (Value result : op.getResults())
      live -= getTensorBytes(result);
  }
  return largest;
}
