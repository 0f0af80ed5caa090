//===- FusionGroups.cpp - Groups operations into kernels ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionGroups.h"

#include "cs336/Dialect/CS336/IR/Rows.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cs336;

/// The most tensors that a kernel loads or stores: each takes an address in a register, and a vector in several
/// registers.
static constexpr size_t kMostTensors = 24;
/// The most values of one element that are live at the same time. A thread has up to 255 registers of 32 bits for
/// vectors of 4 to 8 elements.
static constexpr int64_t kMostLiveValues = 24;
/// The largest work of a kernel per element. Above it a kernel is limited by arithmetic: storing and loading an
/// intermediate value takes a small part of its time, and compiling one block of instructions takes longer than
/// compiling two of half the length.
static constexpr int64_t kMostWork = 128;

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

std::optional<FusionSpace> FusionSpace::unify(const FusionSpace &lhs, const FusionSpace &rhs) {
  const FusionSpace &whole = lhs.shape.size() >= rhs.shape.size() ? lhs : rhs;
  const FusionSpace &part = lhs.shape.size() >= rhs.shape.size() ? rhs : lhs;
  FusionSpace unified = whole;
  if (whole.shape.size() == part.shape.size()) {
    if (whole.shape != part.shape || (whole.numReduced && part.numReduced && whole.numReduced != part.numReduced))
      return std::nullopt;
    if (whole.isClosed() && part.isClosed() && whole.closedAxes != part.closedAxes)
      return std::nullopt;
    unified.numReduced = std::max(whole.numReduced, part.numReduced);
    if (part.isClosed())
      unified.closedAxes = part.closedAxes;
  } else {
    // Values per row.
    unsigned numReduced = whole.shape.size() - part.shape.size();
    bool isOfRows = !part.shape.empty() && !part.numReduced && !part.isClosed() &&
                    ArrayRef(whole.shape).drop_back(numReduced) == ArrayRef(part.shape);
    if (!isOfRows || (whole.numReduced && whole.numReduced != numReduced))
      return std::nullopt;
    unified.numReduced = numReduced;
  }
  // Rows of a kernel that reduces other axes are not contiguous.
  if (unified.isClosed() && unified.numReduced)
    return std::nullopt;
  return unified;
}

/// Returns the space of the first assembled operand, through nested assemblies.
FusionSpace FusionGroups::getAssemblySpace(Operation *op) const {
  auto findInner = [&](Operation *outer) -> Operation * {
    for (Value operand : outer->getOperands())
      if (Operation *inner = operand.getDefiningOp(); inner && roles.get(inner) == FusionRole::Assembly)
        return inner;
    return nullptr;
  };
  while (Operation *inner = findInner(op))
    op = inner;
  FusionSpace space;
  llvm::append_range(space.shape, shapeOf(op->getOperand(0)));
  return space;
}

FusionSpace FusionGroups::getSpace(Operation *op) const {
  FusionRole role = roles.get(op);
  FusionSpace space;
  if (role == FusionRole::Assembly)
    return getAssemblySpace(op);
  llvm::append_range(space.shape, shapeOf(role == FusionRole::Pointwise ? op->getResult(0) : op->getOperand(0)));
  if (role == FusionRole::RowReduction)
    space.numReduced = cast<FusibleOpInterface>(op).getReducedAxes().size();
  else if (role == FusionRole::ClosedReduction)
    llvm::append_range(space.closedAxes, cast<FusibleOpInterface>(op).getReducedAxes());
  return space;
}

/// Returns whether a kernel over `space` can pass the value of `use` to its user without memory.
bool FusionGroups::isInSpace(OpOperand &use, const FusionSpace &space) const {
  Operation *producer = use.get().getDefiningOp(), *user = use.getOwner();
  if (roles.get(producer) == FusionRole::Assembly)
    return roles.get(user) == FusionRole::Assembly;
  if (roles.get(producer) == FusionRole::ClosedReduction)
    return false;
  ArrayRef<int64_t> shape = shapeOf(use.get());
  switch (roles.get(user)) {
  case FusionRole::Rematerialized:
    return isRowBroadcast(user) && space.numReduced && shape == space.getRows() &&
           shapeOf(user->getResult(0)) == ArrayRef(space.shape);
  case FusionRole::Pointwise:
    return shape == shapeOf(user->getResult(0));
  default:
    return shape == ArrayRef(space.shape);
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

SmallVector<Value> FusionGroups::getOutputs(const FusionGroup &group) const {
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  auto isInside = [&](Operation *user) {
    if (roles.get(user) != FusionRole::Rematerialized)
      return members.contains(user);
    return llvm::all_of(user->getUsers(), [&](Operation *reader) { return members.contains(reader); });
  };
  SmallVector<Value> outputs;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (!llvm::all_of(result.getUsers(), isInside))
        outputs.push_back(result);
  return outputs;
}

int64_t FusionGroups::getBytes(const FusionGroup &group) const {
  llvm::SmallPtrSet<Value, 16> seen;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      seen.insert(result);
  int64_t bytes = 0;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      roles.forEachLoad(operand, [&](Value value) {
        if (seen.insert(value).second)
          bytes += getTensorBytes(value);
      });
  for (Value output : getOutputs(group))
    bytes += getTensorBytes(output);
  return bytes;
}

/// Counts tensors, and the values of an element that are live at once: each from its load or computation to its last
/// use.
bool FusionGroups::exceedsRegisters(const FusionGroup &group) const {
  llvm::MapVector<Value, unsigned> lastUses;
  llvm::SmallPtrSet<Value, 16> computed;
  SmallVector<int64_t> starting(group.ops.size(), 0), ending(group.ops.size(), 0);
  DenseMap<Value, unsigned> starts;
  size_t tensors = getOutputs(group).size();
  for (auto [position, op] : llvm::enumerate(group.ops)) {
    for (Value operand : op->getOperands())
      roles.forEachLoad(operand, [&](Value value) {
        if (starts.try_emplace(value, position).second)
          ++tensors;
        lastUses[value] = position;
      });
    for (Value result : op->getResults()) {
      starts[result] = position;
      lastUses[result] = position;
    }
  }
  for (auto [value, last] : lastUses) {
    // Values per row, and values shared by all rows, are not vectors and do not count.
    if (shapeOf(value).size() < group.space.shape.size())
      continue;
    ++starting[starts.lookup(value)];
    ++ending[last];
  }
  int64_t live = 0, most = 0;
  for (auto [starts, ends] : llvm::zip_equal(starting, ending)) {
    live += starts;
    most = std::max(most, live);
    live -= ends;
  }
  return tensors > kMostTensors || most > kMostLiveValues;
}

//===----------------------------------------------------------------------===//
// Cycles
//===----------------------------------------------------------------------===//

/// Returns whether an operation outside both groups is on a path between them. Operations of other levels are not.
bool FusionGroups::hasCycle(unsigned lhs, unsigned rhs) const {
  unsigned level = regions.getLevel(groups[lhs].ops.front());
  // No path from operations after the last one that shares a group leads back.
  unsigned last = lastGrouped;
  for (unsigned group : {lhs, rhs})
    last = std::max(last, positions.lookup(groups[group].ops.back()));
  llvm::SmallPtrSet<Operation *, 32> seen;
  llvm::SmallDenseSet<unsigned> seenGroups = {lhs, rhs};
  SmallVector<Operation *> waiting;
  bool isFound = false;
  auto addUsers = [&](Operation *op, bool isOfGroups) {
    for (Operation *user : op->getUsers()) {
      if (positions.lookup(user) > last)
        continue;
      std::optional<unsigned> group = find(user);
      bool isInside = group == lhs || group == rhs;
      if (isInside && !isOfGroups)
        isFound = true;
      // A broadcast inside the group stays in the group.
      if (!isInside && !(group && seenGroups.contains(*group)) && seen.insert(user).second)
        waiting.push_back(user);
    }
  };
  auto leadsOnlyInside = [&](Operation *op) {
    return roles.get(op) == FusionRole::Rematerialized && llvm::all_of(op->getUsers(), [&](Operation *user) {
             std::optional<unsigned> group = find(user);
             return group == lhs || group == rhs;
           });
  };
  for (unsigned group : {lhs, rhs})
    for (Operation *op : groups[group].ops)
      addUsers(op, /*isOfGroups=*/true);
  // Broadcasts between members are part of the group.
  llvm::erase_if(waiting, leadsOnlyInside);
  while (!waiting.empty() && !isFound) {
    Operation *op = waiting.pop_back_val();
    if (regions.getLevel(op) > level)
      continue;
    if (std::optional<unsigned> group = find(op)) {
      seenGroups.insert(*group);
      for (Operation *member : groups[*group].ops)
        addUsers(member, /*isOfGroups=*/false);
    } else {
      addUsers(op, /*isOfGroups=*/false);
    }
  }
  return isFound;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

std::optional<unsigned> FusionGroups::find(Operation *op) const {
  auto found = groupOf.find(op);
  return found == groupOf.end() ? std::nullopt : std::optional(found->second);
}

FusionBarrier FusionGroups::tryMerge(unsigned lhs, unsigned rhs) {
  std::optional<FusionSpace> space = FusionSpace::unify(groups[lhs].space, groups[rhs].space);
  if (!space)
    return FusionBarrier::Space;
  FusionGroup merged;
  merged.space = *space;
  merged.work = groups[lhs].work + groups[rhs].work;
  if (merged.work > kMostWork)
    return FusionBarrier::Work;
  auto isBefore = [&](Operation *a, Operation *b) { return positions.lookup(a) < positions.lookup(b); };
  std::merge(groups[lhs].ops.begin(), groups[lhs].ops.end(), groups[rhs].ops.begin(), groups[rhs].ops.end(),
             std::back_inserter(merged.ops), isBefore);
  auto isMember = [&](Operation *op) {
    std::optional<unsigned> group = find(op);
    return group == lhs || group == rhs;
  };
  // An assembly has its own shape, over which targets do not reduce.
  auto isAssembly = [&](Operation *op) { return roles.get(op) == FusionRole::Assembly; };
  if (space->numReduced && llvm::any_of(merged.ops, isAssembly))
    return FusionBarrier::Space;
  for (Operation *op : merged.ops)
    for (Value result : op->getResults())
      for (OpOperand &use : result.getUses()) {
        bool isInside = roles.get(use.getOwner()) == FusionRole::Rematerialized
                            ? llvm::any_of(use.getOwner()->getUsers(), isMember)
                            : isMember(use.getOwner());
        if (isInside && !isInSpace(use, *space))
          return FusionBarrier::Space;
      }
  merged.bytes = getBytes(merged);
  if (merged.bytes >= groups[lhs].bytes + groups[rhs].bytes)
    return FusionBarrier::Bytes;
  if (exceedsRegisters(merged))
    return FusionBarrier::Registers;
  if (hasCycle(lhs, rhs))
    return FusionBarrier::Cycle;
  for (Operation *op : groups[rhs].ops)
    groupOf[op] = lhs;
  lastGrouped = std::max(lastGrouped, positions.lookup(merged.ops.back()));
  groups[lhs] = std::move(merged);
  groups[rhs] = {};
  return FusionBarrier::None;
}

void FusionGroups::fuseAlongValues(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && roles.get(producer) == FusionRole::Rematerialized && producer->getNumOperands() == 1)
        producer = producer->getOperand(0).getDefiningOp();
      std::optional<unsigned> from = producer ? find(producer) : std::nullopt;
      if (!from || from == find(op) || regions.getRegion(producer) != regions.getRegion(op))
        continue;
      FusionBarrier barrier = tryMerge(*from, *find(op));
      if (barrier != FusionBarrier::None)
        missed.push_back({producer, op, barrier});
    }
  }
}

/// Merges groups of one space that read the same tensor of more than one element. Tensors that all operations read,
/// such as a learning rate, are not a reason to merge.
void FusionGroups::fuseSiblings(ArrayRef<Operation *> ops) {
  llvm::MapVector<Value, SmallVector<Operation *, 4>> readers;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      roles.forEachLoad(operand, [&](Value value) {
        if (cast<RankedTensorType>(value.getType()).getNumElements() > 1)
          readers[value].push_back(op);
      });
  for (auto &[value, users] : readers) {
    SmallVector<Operation *, 4> apart;
    for (Operation *user : users) {
      auto joins = [&](Operation *other) {
        unsigned first = *find(other), second = *find(user);
        if (first == second)
          return true;
        bool isAlike = groups[first].space.shape == groups[second].space.shape &&
                       groups[first].space.closedAxes == groups[second].space.closedAxes;
        return isAlike && tryMerge(first, second) == FusionBarrier::None;
      };
      if (llvm::none_of(apart, joins))
        apart.push_back(user);
    }
  }
}

/// Returns the FLOPs per element of the largest tensor that `op` reads or computes.
static int64_t getWork(Operation *op) {
  int64_t elements = 1;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      elements = std::max(elements, cast<RankedTensorType>(value.getType()).getNumElements());
  return std::max<int64_t>(llvm::divideCeil(getOperationFlops(op), elements), 1);
}

FusionGroups::FusionGroups(Block &block, const FusionRoles &roles, const FusionRegions &regions)
    : roles(roles), regions(regions) {
  SmallVector<SmallVector<Operation *>> levels(regions.getNumLevels());
  for (auto [position, op] : llvm::enumerate(block)) {
    positions[&op] = position;
    if (!roles.isFusible(&op))
      continue;
    levels[regions.getLevel(&op)].push_back(&op);
    groupOf[&op] = groups.size();
    FusionGroup &group = groups.emplace_back();
    group.ops.push_back(&op);
    group.space = getSpace(&op);
    group.bytes = getBytes(group);
    group.work = getWork(&op);
  }
  for (ArrayRef<Operation *> ops : levels) {
    fuseAlongValues(ops);
    fuseSiblings(ops);
  }
}
