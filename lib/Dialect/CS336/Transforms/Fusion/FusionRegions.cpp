//===- FusionRegions.cpp - Regions of operations that may share kernels ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRegions.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Rows.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace cs336;

/// FLOPs per byte of saved memory traffic that recomputation may cost.
static constexpr int64_t kFlopsPerByte = 2;
/// The number of operations to go back for the cost of a value.
static constexpr unsigned kDepth = 4;

FusionRegions::FusionRegions(Block &block, FusionRoles &roles) : roles(roles) {
  splitBroadcasts(block);
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  computeLevels(block);
  // Users before their operands, so that all uses of a value are known when it is visited.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (roles.get(&op) == FusionRole::Pointwise && roles.isRecomputable(&op))
      place(&op);
}

/// Gives each user its own broadcast, as each becomes part of its user's kernel.
void FusionRegions::splitBroadcasts(Block &block) {
  SmallVector<Operation *> broadcasts;
  for (Operation &op : block)
    if (roles.get(&op) == FusionRole::Rematerialized && op.getNumOperands() != 0 && !roles.isLiteral(op.getResult(0)))
      broadcasts.push_back(&op);
  for (Operation *op : broadcasts) {
    llvm::SmallSetVector<Operation *, 4> users(op->user_begin(), op->user_end());
    // Uses are listed from the last to the first.
    SmallVector<Operation *> ordered = users.takeVector();
    if (ordered.size() < 2)
      continue;
    llvm::sort(ordered, [](Operation *lhs, Operation *rhs) { return lhs->isBeforeInBlock(rhs); });
    for (Operation *user : llvm::drop_begin(ordered)) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      Operation *copy = OpBuilder(user).clone(*op);
      roles.addCopy(copy, op);
      user->replaceUsesOfWith(op->getResult(0), copy->getResult(0));
    }
  }
}

void FusionRegions::computeLevels(Block &block) {
  SmallVector<Operation *> closed;
  unsigned highest = 0;
  for (Operation &op : block) {
    unsigned level = 0;
    for (Value operand : op.getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source)
        continue;
      FusionRole role = roles.get(source);
      bool separates = role == FusionRole::Opaque || role == FusionRole::ClosedReduction;
      level = std::max(level, levels.lookup(source) + separates);
    }
    // A recomputed value must not share a kernel with the original computation, which would keep the value instead.
    if (isa<BarrierOp>(op))
      level = std::max(level, highest + 1);
    else
      highest = std::max(highest, level);
    levels[&op] = level;
    numLevels = std::max(numLevels, level + 1);
    if (roles.get(&op) == FusionRole::ClosedReduction)
      closed.push_back(&op);
  }
  levelOfRegion = llvm::to_vector(llvm::seq(0u, numLevels));
  for (Operation *op : closed)
    levelOfRegion.push_back(levels.lookup(op));
  reads.resize(levelOfRegion.size());
  for (auto [index, op] : llvm::enumerate(closed))
    assign(op, numLevels + index);
  for (Operation &op : block)
    if (roles.isFusible(&op) && roles.get(&op) != FusionRole::ClosedReduction)
      assign(&op, levels.lookup(&op));
}

void FusionRegions::assign(Operation *op, unsigned region) {
  regions[op] = region;
  levels[op] = levelOfRegion[region];
  for (Value operand : op->getOperands())
    roles.forEachLoad(operand, [&](Value value) { reads[region].insert(value); });
}

std::optional<unsigned> FusionRegions::getRegionOf(OpOperand &use) const {
  Operation *user = use.getOwner();
  ArrayRef<int64_t> shape = shapeOf(use.get());
  if (roles.get(user) == FusionRole::Rematerialized) {
    // A value per row can be fused with the operations on its row, but not into kernels that reduce columns.
    if (!isRowBroadcast(user) || !user->hasOneUse())
      return std::nullopt;
    Operation *reader = *user->user_begin();
    bool isBesideRows = roles.isFusible(reader) && getRegion(reader) < numLevels;
    return isBesideRows ? std::optional(getRegion(reader)) : std::nullopt;
  }
  if (!roles.isFusible(user))
    return std::nullopt;
  auto isAlike = [&](Value value) { return shapeOf(value) == shape; };
  bool isInSpace = roles.get(user) == FusionRole::Pointwise ? isAlike(user->getResult(0))
                                                            : llvm::all_of(user->getOperands(), isAlike);
  return isInSpace ? std::optional(getRegion(user)) : std::nullopt;
}

FusionRegions::Demand FusionRegions::getDemand(Value value) const {
  Demand demand;
  for (OpOperand &use : value.getUses()) {
    if (std::optional<unsigned> region = getRegionOf(use))
      demand.regions.insert(*region);
    else if (!(roles.get(use.getOwner()) == FusionRole::Rematerialized && use.getOwner()->use_empty()))
      demand.isStored = true;
  }
  return demand;
}

bool FusionRegions::isAtHand(Value value, unsigned region) const {
  Operation *op = value.getDefiningOp();
  return reads[region].contains(value) || (op && roles.isFusible(op) && getRegion(op) == region);
}

int64_t FusionRegions::getReadBytes(Value value, unsigned region, unsigned depth) const {
  int64_t bytes = 0;
  if (roles.isRematerialized(value)) {
    roles.forEachLoad(value, [&](Value source) { bytes = addSaturating(bytes, getReadBytes(source, region, depth)); });
    return bytes;
  }
  if (isAtHand(value, region))
    return 0;
  bytes = getTensorBytes(value);
  Operation *op = value.getDefiningOp();
  if (!op || !roles.isFusible(op))
    return bytes;
  // If no other region needs the value in memory, its write counts for this region, too.
  Demand demand = getDemand(value);
  bool isStored = demand.isStored || llvm::any_of(demand.regions, [&](unsigned r) { return r != getRegion(op); });
  int64_t stored = isStored ? bytes : 2 * bytes;
  if (depth == 0 || roles.get(op) != FusionRole::Pointwise || !roles.isRecomputable(op) ||
      getOperationFlops(op) > kFlopsPerByte * bytes)
    return stored;
  return std::min(stored, getOperandBytes(op, region, depth - 1));
}

int64_t FusionRegions::getOperandBytes(Operation *op, unsigned region, unsigned depth) const {
  int64_t bytes = 0;
  llvm::SmallSetVector<Value, 4> operands(op->operand_begin(), op->operand_end());
  for (Value operand : operands)
    bytes = addSaturating(bytes, getReadBytes(operand, region, depth));
  return bytes;
}

/// Chooses the regions that compute an element-wise value.
void FusionRegions::place(Operation *op) {
  Demand demand = getDemand(op->getResult(0));
  unsigned home = getRegion(op);
  auto foreign = llvm::to_vector(llvm::make_filter_range(demand.regions, [&](unsigned r) { return r != home; }));
  llvm::sort(foreign);
  if (foreign.empty())
    return;
  int64_t bytes = getTensorBytes(op->getResult(0));
  // If exactly one other region needs the value, computing it in its home region is useful only if its operands take
  // more memory.
  if (demand.regions.size() == 1 && !demand.isStored) {
    if (getOperandBytes(op, foreign.front(), kDepth) <= 2 * bytes)
      assign(op, foreign.front());
    return;
  }
  if (getOperationFlops(op) > kFlopsPerByte * bytes)
    return;
  int64_t all = 0;
  for (unsigned region : foreign)
    all = addSaturating(all, getOperandBytes(op, region, kDepth));
  bool savesStoring = !demand.isStored && all < multiplySaturating(foreign.size() + 1, bytes);
  for (unsigned region : foreign)
    if (savesStoring || getOperandBytes(op, region, kDepth) < bytes)
      recompute(op, region);
  if (op->use_empty())
    op->erase();
}

/// Returns whether `lhs` stands before `rhs` in the block. MLIR's order of the block would be computed again after
/// every few copies.
bool FusionRegions::isBefore(Operation *lhs, Operation *rhs) const {
  unsigned position = positions.lookup(lhs);
  if (position != positions.lookup(rhs))
    return position < positions.lookup(rhs);
  for (Operation *op = lhs->getNextNode(); op && positions.lookup(op) == position; op = op->getNextNode())
    if (op == rhs)
      return true;
  return false;
}

/// Replaces `op` with a copy for its users in `region`.
void FusionRegions::recompute(Operation *op, unsigned region) {
  SmallVector<OpOperand *> uses;
  Operation *first = nullptr;
  for (OpOperand &use : op->getResult(0).getUses()) {
    if (getRegionOf(use) != region)
      continue;
    uses.push_back(&use);
    if (!first || isBefore(use.getOwner(), first))
      first = use.getOwner();
  }
  OpBuilder builder(first);
  Operation *copy = builder.clone(*op);
  roles.addCopy(copy, op);
  positions[copy] = positions.lookup(first);
  // Each copy has its own broadcasts.
  for (OpOperand &operand : copy->getOpOperands()) {
    if (!roles.isRematerialized(operand.get()) || roles.isLiteral(operand.get()))
      continue;
    Operation *source = operand.get().getDefiningOp();
    Operation *broadcast = OpBuilder(copy).clone(*source);
    roles.addCopy(broadcast, source);
    positions[broadcast] = positions.lookup(first);
    operand.set(broadcast->getResult(0));
  }
  for (OpOperand *use : uses)
    use->set(copy->getResult(0));
  assign(copy, region);
  ++numRecomputed;
}
