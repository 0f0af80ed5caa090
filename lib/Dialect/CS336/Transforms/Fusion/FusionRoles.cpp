//===- FusionRoles.cpp - The roles of operations in fusion ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRoles.h"

#include "cs336/Dialect/CS336/IR/Rows.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace cs336;

/// Arithmetic on constants and indices with fewer FLOPs per element is computed again by every reader. Tables that cost
/// more are stored (`--cs336-hoist-invariants`).
static constexpr int64_t kMostLiteralFlops = 4;

int64_t cs336::getOperationFlops(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? cost.getFlops() : 0;
}

static bool computesOnTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return op->getNumRegions() == 0 && op->getNumResults() > 0 && llvm::all_of(op->getOperandTypes(), isTensor) &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

/// Classifies a reduction. Reductions over the last axes keep rows apart, unless no axis is left.
static FusionRole classifyReduction(Operation *op, ArrayRef<int64_t> axes) {
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isOfRows(operand, shape); }))
    return FusionRole::Opaque;
  int64_t rank = shape.size(), kept = rank - axes.size();
  bool isOverRows = kept > 0 && llvm::equal(axes, llvm::seq(kept, rank));
  return isOverRows ? FusionRole::RowReduction : FusionRole::ClosedReduction;
}

FusionRole FusionRoles::classify(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  if (fusible && computesOnTensors(op)) {
    if (fusible.isRematerializable())
      return FusionRole::Rematerialized;
    switch (fusible.getFusionKind()) {
    case FusionKind::Pointwise: {
      auto isKnown = [&](Value operand) { return literalFlops.contains(operand); };
      return isRecomputable(op) && llvm::all_of(op->getOperands(), isKnown) ? FusionRole::Rematerialized
                                                                            : FusionRole::Pointwise;
    }
    case FusionKind::RowReduction:
      return classifyReduction(op, fusible.getReducedAxes());
    case FusionKind::Assembly:
      return FusionRole::Assembly;
    case FusionKind::Contraction:
    case FusionKind::Opaque:
      break;
    }
  }
  return isa<ViewOpInterface>(op) ? FusionRole::View : FusionRole::Opaque;
}

FusionRoles::FusionRoles(Block &block) {
  for (Operation &op : block) {
    FusionRole role = classify(&op);
    if (role == FusionRole::Rematerialized) {
      int64_t elements = cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
      int64_t flops = llvm::divideCeil(getOperationFlops(&op), std::max<int64_t>(elements, 1));
      bool isLiteral = true;
      for (Value operand : op.getOperands()) {
        auto known = literalFlops.find(operand);
        isLiteral &= known != literalFlops.end();
        flops += isLiteral ? known->second : 0;
      }
      if (isLiteral && flops < kMostLiteralFlops)
        literalFlops[op.getResult(0)] = flops;
      else if (!cast<FusibleOpInterface>(&op).isRematerializable())
        role = FusionRole::Pointwise;
    }
    roles[&op] = role;
  }
}

void FusionRoles::addCopy(Operation *copy, Operation *op) {
  roles[copy] = get(op);
  for (auto [result, original] : llvm::zip_equal(copy->getResults(), op->getResults()))
    if (auto known = literalFlops.find(original); known != literalFlops.end())
      literalFlops[result] = int64_t(known->second);
}

bool FusionRoles::isFusible(Operation *op) const {
  switch (get(op)) {
  case FusionRole::Pointwise:
  case FusionRole::RowReduction:
  case FusionRole::ClosedReduction:
  case FusionRole::Assembly:
    return true;
  case FusionRole::Opaque:
  case FusionRole::View:
  case FusionRole::Rematerialized:
    return false;
  }
  llvm_unreachable("every role has a case");
}

bool FusionRoles::isRematerialized(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && get(op) == FusionRole::Rematerialized;
}

bool FusionRoles::isLiteral(Value value) const { return literalFlops.contains(value); }

bool FusionRoles::isRecomputable(Operation *op) const {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  if (!fusible || fusible.getFusionKind() != FusionKind::Pointwise || op->getNumResults() != 1)
    return false;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  return llvm::all_of(op->getOperands(), [&](Value operand) { return shapeOf(operand) == shape; });
}

bool FusionRoles::isConversion(Operation *op) const {
  return get(op) == FusionRole::Pointwise && isRecomputable(op) && op->getNumOperands() == 1 &&
         getOperationFlops(op) == 0;
}

void FusionRoles::forEachLoad(Value operand, llvm::function_ref<void(Value)> fn) const {
  SmallVector<Value> pending{operand};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!isRematerialized(value))
      fn(value);
    else if (!isLiteral(value))
      llvm::append_range(pending, llvm::reverse(value.getDefiningOp()->getOperands()));
  }
}
