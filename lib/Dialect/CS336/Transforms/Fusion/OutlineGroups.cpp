//===- OutlineGroups.cpp - Groups become operations -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineGroups.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <queue>

using namespace mlir;
using namespace cs336;

namespace {
/// Builds the body of one group.
class BodyBuilder {
public:
  BodyBuilder(const FusionRoles &roles, FusedOp fused, ArrayRef<Value> inputs);

  void append(Operation *op);
  void yield(ArrayRef<Value> outputs, Location loc);

private:
  /// An operation to copy, and the operands of its copy that exist already.
  struct Copy {
    Operation *op;
    bool isShared;
    SmallVector<Value> operands;
  };

  Copy startCopy(Value rematerialized) const;
  /// Returns an equal operation of the body if `isShared` allows it, or else a new copy.
  Operation *finishCopy(const Copy &copy);
  Operation *copy(Operation *op);

  const FusionRoles &roles;
  OpBuilder builder;
  IRMapping mapping;
  Block &body;
};
} // namespace

BodyBuilder::BodyBuilder(const FusionRoles &roles, FusedOp fused, ArrayRef<Value> inputs)
    : roles(roles), builder(fused.getContext()), body(fused.getBody().emplaceBlock()) {
  for (Value input : inputs)
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&body);
}

Operation *BodyBuilder::finishCopy(const Copy &copy) {
  Operation *op = copy.op;
  if (copy.isShared) {
    // All candidates read the same first operand, so there are few of them.
    auto isSame = [&](Operation &known) {
      return known.getName() == op->getName() && llvm::equal(known.getOperands(), copy.operands) &&
             known.getResultTypes() == op->getResultTypes() && known.getAttrDictionary() == op->getAttrDictionary();
    };
    for (Operation &known : body)
      if (isSame(known))
        return &known;
  }
  Operation *cloned = builder.clone(*op, mapping);
  cloned->setOperands(copy.operands);
  return cloned;
}

/// Starts a copy of index arithmetic: one per use, so that each use absorbs its own copy.
BodyBuilder::Copy BodyBuilder::startCopy(Value rematerialized) const {
  Operation *source = rematerialized.getDefiningOp();
  bool isShared = cast<FusibleOpInterface>(source).isRematerializable() && !roles.isLiteral(rematerialized);
  return {source, isShared || source->getNumOperands() == 0, {}};
}

Operation *BodyBuilder::copy(Operation *op) {
  // Visits operands first. An explicit stack replaces recursion, because index arithmetic has no length limit.
  SmallVector<Copy> pending{{op, /*isShared=*/true, {}}};
  while (true) {
    Copy &top = pending.back();
    if (top.operands.size() < top.op->getNumOperands()) {
      Value operand = top.op->getOperand(top.operands.size());
      if (roles.isRematerialized(operand))
        pending.push_back(startCopy(operand));
      else
        top.operands.push_back(mapping.lookup(operand));
      continue;
    }
    Operation *copied = finishCopy(top);
    pending.pop_back();
    if (pending.empty())
      return copied;
    Copy &reader = pending.back();
    Value operand = reader.op->getOperand(reader.operands.size());
    reader.operands.push_back(copied->getResult(cast<OpResult>(operand).getResultNumber()));
  }
}

void BodyBuilder::append(Operation *op) { mapping.map(op->getResults(), copy(op)->getResults()); }

void BodyBuilder::yield(ArrayRef<Value> outputs, Location loc) {
  auto values = llvm::map_to_vector(outputs, [&](Value output) { return mapping.lookup(output); });
  YieldOp::create(builder, loc, values);
}

/// Returns the group's location. The location of most operations comes first: the kernel is named after it.
static Location getGroupLocation(const FusionGroup &group) {
  llvm::MapVector<Location, unsigned> counts;
  for (Operation *op : group.ops)
    ++counts[op->getLoc()];
  if (counts.size() == 1)
    return counts.front().first;
  auto locations = llvm::map_to_vector(counts, [](auto &entry) { return entry.first; });
  auto *most = llvm::max_element(locations, [&](Location a, Location b) { return counts[a] < counts[b]; });
  std::rotate(locations.begin(), most, most + 1);
  return FusedLoc::get(locations, Attribute(), group.ops.front()->getContext());
}

static FusedOp buildFused(const FusionRoles &roles, const FusionGroup &group, ArrayRef<Value> outputs) {
  llvm::SmallSetVector<Value, 8> inputs;
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      roles.forEachLoad(operand, [&](Value value) {
        if (!members.contains(value.getDefiningOp()))
          inputs.insert(value);
      });
  Location loc = getGroupLocation(group);
  OpBuilder builder(group.ops.back());
  auto fused = FusedOp::create(builder, loc, ValueRange(outputs).getTypes(), inputs.getArrayRef());
  BodyBuilder body(roles, fused, inputs.getArrayRef());
  for (Operation *op : group.ops)
    body.append(op);
  body.yield(outputs, loc);
  return fused;
}

/// Sorts the block so that values come before their users, and keeps the order of all other operations.
static void orderAnew(Block &block) {
  DenseMap<Operation *, unsigned> positions, missing;
  SmallVector<Operation *> ops;
  for (auto [position, op] : llvm::enumerate(block.without_terminator())) {
    positions[&op] = position;
    ops.push_back(&op);
  }
  std::priority_queue<unsigned, SmallVector<unsigned>, std::greater<>> ready;
  for (auto [position, op] : llvm::enumerate(ops)) {
    unsigned &count = missing[op];
    for (Value operand : op->getOperands())
      count += operand.getDefiningOp() != nullptr;
    if (count == 0)
      ready.push(position);
  }
  while (!ready.empty()) {
    Operation *op = ops[ready.top()];
    ready.pop();
    op->moveBefore(block.getTerminator());
    // Counts one use per operand, as the caller did.
    for (OpOperand &use : op->getUses())
      if (auto user = positions.find(use.getOwner()); user != positions.end() && --missing[use.getOwner()] == 0)
        ready.push(user->second);
  }
}

/// Returns whether `value` is computed from constants and indices alone, but takes too many FLOPs for every kernel to
/// compute it again.
static bool isArithmetic(const FusionRoles &roles, Value value) {
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!roles.isLiteral(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!cast<FusibleOpInterface>(op).isRematerializable())
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

void cs336::outlineGroups(Block &block, const FusionRoles &roles, const FusionGroups &groups,
                          llvm::function_ref<void(FusedOp, const FusionGroup &)> onFused) {
  auto computesMask = [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) { return isArithmetic(roles, operand); });
  };
  bool isAnyFused = false;
  for (const FusionGroup &group : groups.getGroups()) {
    bool isFused = group.ops.size() > 1 || llvm::any_of(group.ops, computesMask);
    if (!isFused)
      continue;
    SmallVector<Value> outputs = groups.getOutputs(group);
    FusedOp fused = buildFused(roles, group, outputs);
    for (auto [output, result] : llvm::zip_equal(outputs, fused.getResults()))
      output.replaceAllUsesWith(result);
    onFused(fused, group);
    isAnyFused = true;
  }
  // Erases the fused operations, which are dead now. Users come before their operands.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (isAnyFused)
    orderAnew(block);
}
