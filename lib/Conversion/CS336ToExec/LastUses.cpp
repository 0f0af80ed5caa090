//===- LastUses.cpp - The last read of each tensor ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LastUses.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;

bool cs336::isRematerializable(Operation *op) {
  auto fusible = dyn_cast_if_present<FusibleOpInterface>(op);
  return fusible && fusible.isRematerializable();
}

LastUses::LastUses(Block &block) {
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  // Backwards, so that all readers of an operation's results are visited before it.
  for (Operation &op : llvm::reverse(block)) {
    bool passesOn = isa<ViewOpInterface>(op) || isRematerializable(&op);
    unsigned position = positions.lookup(&op);
    if (passesOn) {
      if (!isNeeded(&op))
        continue;
      position = 0;
      for (Value result : op.getResults())
        position = std::max(position, lastReads.lookup(result));
    } else if (!isNeeded(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      continue;
    }
    for (Value operand : op.getOperands()) {
      auto [read, isNew] = lastReads.try_emplace(operand, position);
      if (!isNew)
        read->second = std::max(read->second, position);
    }
  }
}

bool LastUses::isNeeded(Operation *op) const {
  return llvm::any_of(op->getResults(), [&](Value result) { return isRead(result); });
}

bool LastUses::isDeadAfter(Value value, Operation *op) const {
  auto found = lastReads.find(value);
  return found == lastReads.end() || found->second <= positions.lookup(op);
}
