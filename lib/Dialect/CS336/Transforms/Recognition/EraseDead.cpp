//===- EraseDead.cpp - Erases unused operations after a rewrite -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EraseDead.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

void cs336::eraseDead(ArrayRef<Operation *> ops, function_ref<void(Operation *)> willErase) {
  llvm::SmallSetVector<Operation *, 16> candidates(ops.begin(), ops.end());
  while (!candidates.empty()) {
    // An operation with remaining users is visited again when they are erased.
    Operation *op = candidates.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        candidates.insert(producer);
    if (willErase)
      willErase(op);
    op->erase();
  }
}
