//===- RecomputePointwisePass.cpp - Pointwise results computed again ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardOperations.h"
#include "LiveSet.h"
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
#define GEN_PASS_DEF_RECOMPUTEPOINTWISEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

/// Returns whether recomputing `value` in the backward pass frees memory: it does not if the function returns the
/// value.
static bool isWorthDropping(Value value, uint64_t minBytes) {
  bool isReturned =
      llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  return !isReturned && static_cast<uint64_t>(getTensorBytes(value)) >= minBytes;
}

namespace {
/// The tensors of one function that its forward pass computes and its backward pass reads.
class Activations {
public:
  Activations(func::FuncOp function, uint64_t minBytes);

  /// Makes the backward pass recompute the values that can be dropped.
  void recompute();

  int64_t numDropped = 0;
  int64_t droppedBytes = 0;

private:
  bool isForward(Operation *op) const { return forward.contains(op); }
  /// Fills `readByBackward`.
  void findReadByBackward();
  /// Returns whether the backward pass can compute the operation's result from available values.
  bool canRepeat(Operation *op) const;
  /// Returns the value that the backward pass reads instead of `value`, and creates it before `reader` if it does not
  /// exist.
  Value getForBackward(Value value, Operation *reader);
  /// Returns the same value as getForBackward, or null if it does not exist yet.
  Value findForBackward(Value value) const;
  Value getBarrier(Value value, Operation *reader);

  Block &block;
  SmallVector<Operation *> operations;
  DenseSet<Operation *> forward;
  /// Results of the forward pass that the backward pass reads, directly or through operations without memory.
  DenseSet<Value> readByBackward;
  /// The values that are available in the backward pass, because it reads or can compute them; and the subset that it
  /// must compute.
  DenseSet<Value> available, computed;
  DenseMap<Value, Value> copies, barriers;
};

class RecomputePointwisePass : public cs336::impl::RecomputePointwisePassBase<RecomputePointwisePass>,
                               public CountingPass {
public:
  using RecomputePointwisePassBase::RecomputePointwisePassBase;

private:
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;
  /// Returns whether the largest live set of the function shrinks too. Emits a remark if it does not.
  bool savesEnough();

  PassCounter numDropped{this, "num-dropped", "Number of results dropped"};
};
} // namespace

Activations::Activations(func::FuncOp function, uint64_t minBytes)
    : block(function.getBody().front()), operations(collectForwardOperations(function)),
      forward(operations.begin(), operations.end()) {
  findReadByBackward();
  for (Operation *op : operations) {
    bool isRepeatable = canRepeat(op);
    for (Value result : op->getResults()) {
      bool isRead = readByBackward.contains(result);
      if (isRead || isRepeatable)
        available.insert(result);
      if (!isRepeatable || (isRead && !isWorthDropping(result, minBytes)))
        continue;
      computed.insert(result);
      numDropped += isRead;
      droppedBytes = addSaturating(droppedBytes, isRead ? getTensorBytes(result) : 0);
    }
  }
}

void Activations::findReadByBackward() {
  // Users are visited before their operands, so one visit per value suffices.
  for (Operation *op : llvm::reverse(operations))
    for (Value result : op->getResults()) {
      auto reads = [&](Operation *user) {
        if (user->hasTrait<OpTrait::IsTerminator>())
          return false;
        return !isForward(user) || (hasNoMemory(user) && readByBackward.contains(user->getResult(0)));
      };
      if (llvm::any_of(result.getUsers(), reads))
        readByBackward.insert(result);
    }
}

bool Activations::canRepeat(Operation *op) const {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!fusible || fusible.getFusionKind() != FusionKind::Pointwise || hasNoMemory(op) || op->getNumResults() != 1 ||
      !cost || !cost.mayRecompute() || !isMemoryEffectFree(op))
    return false;
  bool readsActivations = false;
  for (Value operand : op->getOperands()) {
    Value source = getSource(operand);
    if (!source || !source.getDefiningOp())
      continue;
    if (!available.contains(source))
      return false;
    readsActivations = true;
  }
  return readsActivations;
}

Value Activations::getBarrier(Value value, Operation *reader) {
  Value &barrier = barriers[value];
  if (!barrier) {
    OpBuilder builder(reader);
    barrier = BarrierOp::create(builder, inPhase(Phase::Backward, value.getLoc()), value);
  }
  return barrier;
}

Value Activations::findForBackward(Value value) const {
  Value source = getSource(value);
  return source && computed.contains(source) ? copies.lookup(value) : value;
}

Value Activations::getForBackward(Value value, Operation *reader) {
  if (Value found = findForBackward(value))
    return found;
  // Visits operands first. An explicit stack replaces recursion, because the chain of operations has no length limit.
  struct Copy {
    Operation *op;
    SmallVector<Value, 2> operands;
  };
  SmallVector<Copy> pending{{value.getDefiningOp(), {}}};
  while (true) {
    auto &[op, operands] = pending.back();
    if (operands.size() < op->getNumOperands()) {
      Value operand = op->getOperand(operands.size());
      Value read = findForBackward(operand);
      if (!read) {
        pending.push_back({operand.getDefiningOp(), {}});
        continue;
      }
      Value origin = getSource(operand);
      bool isActivation = origin && origin.getDefiningOp();
      operands.push_back(read == operand && isActivation ? getBarrier(operand, reader) : read);
      continue;
    }
    IRMapping mapping;
    mapping.map(op->getOperands(), operands);
    Operation *copy = OpBuilder(reader).clone(*op, mapping);
    copy->setLoc(inPhase(Phase::Backward, op->getLoc()));
    copies.insert(std::pair(op->getResult(0), copy->getResult(0)));
    pending.pop_back();
    if (pending.empty())
      return copy->getResult(0);
  }
}

void Activations::recompute() {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isForward(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands())
      operand.set(getForBackward(operand.get(), &op));
  }
}

static constexpr RemarkOptions recomputePointwiseRemarks("cs336-recompute-pointwise");

LogicalResult RecomputePointwisePass::initialize(MLIRContext *context) {
  if (minSaving >= 0 && minSaving <= 1)
    return success();
  return emitError(UnknownLoc::get(context)) << "min-saving is " << minSaving << ", must be a share from 0 to 1";
}

bool RecomputePointwisePass::savesEnough() {
  func::FuncOp function = getOperation();
  OwningOpRef<func::FuncOp> trial(function.clone());
  Activations(*trial, minBytes).recompute();
  int64_t before = getLargestLiveSet(function.getBody().front());
  int64_t saved = before - getLargestLiveSet(trial->getBody().front());
  if (static_cast<double>(saved) >= minSaving * static_cast<double>(before))
    return true;
  remark::missed(function.getLoc(), recomputePointwiseRemarks("TooLittle")) << remark::add(
      "nothing is computed again: of the {0} bytes that the function holds at most, {1} would be saved", before, saved);
  return false;
}

void RecomputePointwisePass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal() || !mayComputeAgain(function, recomputePointwiseRemarks))
    return;
  Activations activations(function, minBytes);
  if (activations.numDropped == 0)
    remark::missed(function.getLoc(), recomputePointwiseRemarks("NothingDropped")) << remark::add(
        "the backward pass of @{0} reads no pointwise result of {1} bytes and more that could be computed again",
        function.getName(), minBytes.getValue());
  if (activations.numDropped == 0 || (minSaving > 0 && !savesEnough()))
    return;
  activations.recompute();
  numDropped += activations.numDropped;
  remark::passed(function.getLoc(), recomputePointwiseRemarks("Recomputed"))
      << remark::add("{0} pointwise results of {1} bytes are dropped after the forward pass and computed again",
                     activations.numDropped, activations.droppedBytes);
}
