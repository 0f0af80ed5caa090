//===- Group.cpp - The operations that one kernel computes -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Group.h"

#include "LastUses.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"

using namespace mlir;
using namespace cs336;

void Group::append(Operation *op) {
  ops.push_back(op);
  for (Value result : op->getResults())
    numbers.try_emplace(result, 0);
}

void Group::require(Value value, bool mayRematerialize) {
  if (numbers.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (!mayRematerialize || !isRematerializable(op)) {
    numbers.try_emplace(value, 0);
    inputs.push_back(value);
    return;
  }
  for (Value operand : op->getOperands())
    require(operand, mayRematerialize);
  append(op);
}

void Group::numberValues() {
  unsigned next = 0;
  for (Value input : inputs)
    numbers[input] = next++;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      numbers[result] = next++;
  for (auto [argument, value] : arguments)
    numbers[argument] = numbers.lookup(value);
}

/// Returns whether operands of `op` may be rematerialized. Other operations access memory at computed positions:
/// strided operands are better for them than temporaries.
static bool mayRematerializeFor(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return fusible && llvm::is_contained({FusionKind::Pointwise, FusionKind::RowReduction}, fusible.getFusionKind());
}

Group Group::collect(Operation *op) {
  Group group(op->getLoc());
  auto fused = dyn_cast<FusedOp>(op);
  if (!fused) {
    for (Value operand : op->getOperands())
      group.require(operand, mayRematerializeFor(op));
    group.append(op);
    llvm::append_range(group.outputs, op->getResults());
    group.numberValues();
    return group;
  }
  Block &body = fused.getBody().front();
  for (auto [operand, argument] : llvm::zip_equal(op->getOperands(), body.getArguments())) {
    group.require(operand, llvm::all_of(argument.getUsers(), mayRematerializeFor));
    group.arguments.push_back({argument, operand});
  }
  for (Operation &inner : body.without_terminator())
    group.append(&inner);
  llvm::append_range(group.outputs, body.getTerminator()->getOperands());
  group.numberValues();
  return group;
}
