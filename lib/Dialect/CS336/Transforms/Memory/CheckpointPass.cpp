//===- CheckpointPass.cpp - Recomputation of activations ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardOperations.h"
#include "RepeatedBlocks.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace cs336 {
#define GEN_PASS_DEF_CHECKPOINTPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions remarkOptions("cs336-checkpoint");

namespace {
/// The forward operations between two kept values.
class Span {
public:
  Span(ArrayRef<ProgramBlock> blocks, const DenseSet<Operation *> &forward);

  /// Makes the backward pass read copies instead of the span's values. `numBlocks` is the function's number of blocks.
  void recompute(size_t numBlocks);

  int64_t numDropped = 0, numRecomputed = 0;

private:
  bool isKept(Value value) const;
  bool isReadByBackward(Value value) const;
  void collect();
  int64_t getDroppedBytes() const;

  ArrayRef<ProgramBlock> blocks;
  const DenseSet<Operation *> &forward;
  DenseSet<Operation *> operations;
  /// The values of the span that the backward pass reads and can compute again.
  SmallVector<Value> dropped;
  /// The operations that compute these values, and the kept values that they read.
  DenseSet<Operation *> copied;
  llvm::SetVector<Value> sources;
};

class CheckpointPass : public cs336::impl::CheckpointPassBase<CheckpointPass>, public CountingPass {
public:
  using CheckpointPassBase::CheckpointPassBase;

private:
  void runOnOperation() override;

  PassCounter numBlocks{this, "num-blocks", "Number of blocks found"};
  PassCounter numDropped{this, "num-dropped", "Number of activations dropped"};
  PassCounter numRecomputed{this, "num-recomputed", "Number of operations computed again"};
};
} // namespace

//===----------------------------------------------------------------------===//
// One span
//===----------------------------------------------------------------------===//

Span::Span(ArrayRef<ProgramBlock> blocks, const DenseSet<Operation *> &forward) : blocks(blocks), forward(forward) {
  for (const ProgramBlock &block : blocks)
    operations.insert(block.operations.begin(), block.operations.end());
}

/// Returns whether `value` is available in the backward pass without recomputation.
bool Span::isKept(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || !operations.contains(op) || value == blocks.back().output)
    return true;
  auto cost = dyn_cast<CostOpInterface>(op);
  bool mayRepeat = cost && cost.mayRecompute() && isMemoryEffectFree(op);
  // An operation that reads no value of the span is not copied: the copy would equal the original.
  bool readsActivations = llvm::any_of(op->getOperands(), [&](Value operand) {
    return operand == blocks.front().input || operations.contains(operand.getDefiningOp());
  });
  bool isReturned =
      llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  return !mayRepeat || !readsActivations || isReturned;
}

bool Span::isReadByBackward(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !forward.contains(user) && !user->hasTrait<OpTrait::IsTerminator>();
  });
}

void Span::collect() {
  SmallVector<Value> worklist;
  for (const ProgramBlock &block : blocks)
    for (Operation *op : block.operations)
      for (Value result : op->getResults())
        if (isReadByBackward(result) && !isKept(result)) {
          dropped.push_back(result);
          worklist.push_back(result);
        }
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!copied.insert(op).second)
      continue;
    for (Value operand : op->getOperands()) {
      if (!isKept(operand))
        worklist.push_back(operand);
      else if (operand == blocks.front().input || operations.contains(operand.getDefiningOp()))
        sources.insert(operand);
    }
  }
}

/// Returns the bytes of the tensors that store the dropped values. Views have no memory of their own.
int64_t Span::getDroppedBytes() const {
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

void Span::recompute(size_t numBlocks) {
  collect();
  if (dropped.empty()) {
    remark::missed(blocks.front().operations.front()->getLoc(), remarkOptions("NothingDropped"))
        << remark::add("the backward pass reads no recomputable value of {0} of {1} blocks", blocks.size(), numBlocks);
    return;
  }
  Operation *firstReader = nullptr;
  for (Value value : dropped)
    for (Operation *user : value.getUsers())
      if (!forward.contains(user) && (!firstReader || user->isBeforeInBlock(firstReader)))
        firstReader = user;

  OpBuilder builder(firstReader);
  IRMapping copies;
  for (Value source : sources)
    copies.map(source, BarrierOp::create(builder, inPhase(Phase::Backward, source.getLoc()), source));
  int64_t flops = 0;
  for (const ProgramBlock &block : blocks)
    for (Operation *op : block.operations) {
      if (!copied.contains(op))
        continue;
      Operation *copy = builder.clone(*op, copies);
      copy->setLoc(inPhase(Phase::Backward, op->getLoc()));
      flops = addSaturating(flops, cast<CostOpInterface>(op).getFlops());
    }
  remark::passed(blocks.front().operations.front()->getLoc(), remarkOptions("Recomputed"))
      << remark::add("{0} of {1} blocks together: {2} bytes of activations are dropped, {3} FLOPs are computed again",
                     blocks.size(), numBlocks, getDroppedBytes(), flops);
  for (Value value : dropped)
    value.replaceUsesWithIf(copies.lookup(value), [&](OpOperand &use) {
      return !forward.contains(use.getOwner()) && use.getOwner()->getBlock() == firstReader->getBlock();
    });
  numDropped = dropped.size();
  numRecomputed = copied.size();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void CheckpointPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (every == 0 || function.isExternal() || !mayComputeAgain(function, remarkOptions))
    return;
  SmallVector<Operation *> operations = collectForwardOperations(function);
  DenseSet<Operation *> forward(operations.begin(), operations.end());
  SmallVector<ProgramBlock> blocks = findRepeatedBlocks(collectActivations(operations));
  if (blocks.empty()) {
    remark::missed(function.getLoc(), remarkOptions("NoBlocks"))
        << remark::add("nothing is computed again: the forward pass has no consecutive equal blocks with a "
                       "single value between them");
    return;
  }
  numBlocks += blocks.size();
  for (size_t first = 0; first < blocks.size(); first += every) {
    ArrayRef<ProgramBlock> rest = ArrayRef<ProgramBlock>(blocks).drop_front(first);
    Span span(rest.take_front(every), forward);
    span.recompute(blocks.size());
    numDropped += span.numDropped;
    numRecomputed += span.numRecomputed;
  }
}
