//===- RecomputedSpan.cpp - Blocks that are computed again ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputedSpan.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cs336;

RecomputedSpan::RecomputedSpan(ArrayRef<ProgramBlock> blocks, const DenseSet<Operation *> &forward,
                               llvm::function_ref<bool(Operation *)> mayRepeat)
    : blocks(blocks), forward(forward) {
  for (const ProgramBlock &block : blocks)
    operations.insert(block.operations.begin(), block.operations.end());

  SmallVector<Value> worklist;
  for (const ProgramBlock &block : blocks)
    for (Operation *op : block.operations)
      for (Value result : op->getResults())
        if (isReadByBackward(result) && !isKept(result, mayRepeat)) {
          dropped.push_back(result);
          worklist.push_back(result);
        }
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!copied.insert(op).second)
      continue;
    for (Value operand : op->getOperands()) {
      if (!isKept(operand, mayRepeat))
        worklist.push_back(operand);
      else if (operand == blocks.front().input || operations.contains(operand.getDefiningOp()))
        sources.insert(operand);
    }
  }
}

bool RecomputedSpan::isKept(Value value, llvm::function_ref<bool(Operation *)> mayRepeat) const {
  Operation *op = value.getDefiningOp();
  if (!op || !operations.contains(op) || value == blocks.back().output)
    return true;
  auto cost = dyn_cast<CostOpInterface>(op);
  bool canRepeat = cost && cost.mayRecompute() && isMemoryEffectFree(op);
  // An operation that reads no value of the span is not copied: the copy would equal the original.
  bool readsActivations = llvm::any_of(op->getOperands(), [&](Value operand) {
    return operand == blocks.front().input || operations.contains(operand.getDefiningOp());
  });
  bool isReturned =
      llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  return !canRepeat || !readsActivations || isReturned || !mayRepeat(op);
}

bool RecomputedSpan::isReadByBackward(Value value) const {
  // A barrier does not count: it keeps a value for the recomputing copies that read it.
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !forward.contains(user) && !isa<BarrierOp>(user) && !user->hasTrait<OpTrait::IsTerminator>();
  });
}

int64_t RecomputedSpan::getDroppedBytes() const {
  DenseSet<Value> tensors;
  for (Value value : dropped) {
    while (isa<ViewOpInterface>(value.getDefiningOp()) &&
           copied.contains(value.getDefiningOp()->getOperand(0).getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    if (!isa<ViewOpInterface>(value.getDefiningOp()))
      tensors.insert(value);
  }
  int64_t bytes = 0;
  for (Value tensor : tensors)
    bytes = addSaturating(bytes, getTensorBytes(tensor));
  return bytes;
}

int64_t RecomputedSpan::getFlops() const {
  int64_t flops = 0;
  for (Operation *op : copied)
    flops = addSaturating(flops, cast<CostOpInterface>(op).getFlops());
  return flops;
}

void RecomputedSpan::recompute() const {
  Operation *firstReader = nullptr;
  for (Value value : dropped)
    for (Operation *user : value.getUsers())
      if (!forward.contains(user) && (!firstReader || user->isBeforeInBlock(firstReader)))
        firstReader = user;

  OpBuilder builder(firstReader);
  IRMapping copies;
  for (Value source : sources)
    copies.map(source, BarrierOp::create(builder, inPhase(Phase::Backward, source.getLoc()), source));
  for (const ProgramBlock &block : blocks)
    for (Operation *op : block.operations) {
      if (!copied.contains(op))
        continue;
      Operation *copy = builder.clone(*op, copies);
      copy->setLoc(inPhase(Phase::Backward, op->getLoc()));
    }
  for (Value value : dropped) {
    Value copy = copies.lookup(value);
    value.replaceUsesWithIf(copy, [&](OpOperand &use) {
      return !forward.contains(use.getOwner()) && use.getOwner()->getBlock() == firstReader->getBlock();
    });
  }
}
