//===- AbsorbSlices.cpp - Moves interleaved slices into fusion groups -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbSlices.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cs336;

bool cs336::isInterleaved(SliceOp slice) {
  ArrayRef<int64_t> from = shapeOf(slice.getOperand()), to = shapeOf(slice.getResult());
  return !to.empty() && to.back() == 1 && from.back() > 1 && from.drop_back() == to.drop_back();
}

/// Replaces these operands of the group, slices of `whole`, with `whole` and slices in the body.
static void absorb(FusedOp fused, Value whole, ArrayRef<unsigned> operands) {
  Block &body = fused.getBody().front();
  BlockArgument argument = body.addArgument(whole.getType(), whole.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (unsigned operand : operands) {
    Operation *copy = builder.clone(*fused.getInputs()[operand].getDefiningOp());
    copy->setOperand(0, argument);
    body.getArgument(operand).replaceAllUsesWith(copy->getResult(0));
  }
  for (unsigned operand : llvm::reverse(operands)) {
    body.eraseArgument(operand);
    fused.getInputsMutable().erase(operand);
  }
  fused.getInputsMutable().append(whole);
}

/// Absorbs the interleaved slices of one tensor. Returns their number, 0 if the group reads no two slices of a tensor.
static unsigned absorbSlicesOfOne(FusedOp fused) {
  llvm::MapVector<Value, SmallVector<unsigned>> slices;
  for (auto [number, input] : llvm::enumerate(fused.getInputs()))
    if (auto slice = input.getDefiningOp<SliceOp>(); slice && isInterleaved(slice))
      slices[slice.getOperand()].push_back(number);
  for (auto &[whole, operands] : slices) {
    if (operands.size() < 2)
      continue;
    absorb(fused, whole, operands);
    return operands.size();
  }
  return 0;
}

unsigned cs336::absorbSlices(Block &block) {
  unsigned numAbsorbed = 0;
  for (auto fused : block.getOps<FusedOp>())
    while (unsigned number = absorbSlicesOfOne(fused))
      numAbsorbed += number;
  return numAbsorbed;
}
