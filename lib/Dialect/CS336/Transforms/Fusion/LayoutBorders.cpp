//===- LayoutBorders.cpp - Layout operations at kernels' borders ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutBorders.h"

#include "AbsorbSlices.h"
#include "FusionRoles.h"
#include "JoinConcats.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace cs336;

namespace {
class LayoutMover {
public:
  explicit LayoutMover(Block &block) : roles(block), block(block) {}
  unsigned run();

private:
  bool isLayout(Operation *op) const;
  void findFeeders();
  void hoistAll();
  bool hoist(Operation *layout);
  void sink(Operation *op);
  void exchange(TransposeOp transpose);
  void mergeEqual();
  void eraseDead();
  bool isMovable(Operation *layout, Value rematerialized) const;
  Value moveOnto(OpBuilder &builder, Operation *layout, Value rematerialized);
  Operation *cloneOn(OpBuilder &builder, Operation *op, ValueRange operands, ArrayRef<int64_t> shape, Type element);

  FusionRoles roles;
  Block &block;
  /// Layout operations whose result is read by a kernel that could also compute their operand. Moves do not change this
  /// set.
  DenseSet<Operation *> feeders;
  /// Layout operations to hoist, the next one at the end.
  SetVector<Operation *> pending;
  unsigned numMoved = 0;
};
} // namespace

/// Returns whether `op` moves elements and does not change them.
bool LayoutMover::isLayout(Operation *op) const {
  return op && roles.get(op) == FusionRole::View && op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         op->getOperand(0).getType() != op->getResult(0).getType();
}

/// Builds a copy of `op` that reads `operands` and whose result has another shape or element type.
Operation *LayoutMover::cloneOn(OpBuilder &builder, Operation *op, ValueRange operands, ArrayRef<int64_t> shape,
                                Type element) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(RankedTensorType::get(shape, element));
  roles.addCopy(copy, op);
  return copy;
}

/// Finds the layout operations that kernels read, directly or through other layout operations.
void LayoutMover::findFeeders() {
  for (Operation &op : llvm::reverse(block))
    if (isLayout(&op) &&
        llvm::any_of(op.getUsers(), [&](Operation *user) { return roles.isFusible(user) || feeders.contains(user); }))
      feeders.insert(&op);
}

/// Returns the dims of a broadcast whose result is transposed.
static SmallVector<int64_t> getTransposedDims(BroadcastOp broadcast, TransposeOp transpose) {
  SmallVector<int64_t> dims;
  for (int64_t dim : broadcast.getDims())
    dims.push_back(llvm::find(transpose.getPerm(), dim) - transpose.getPerm().begin());
  return dims;
}

/// Returns whether a layout operation on index arithmetic gives index arithmetic: the operand is a splat, or a
/// broadcast whose operand keeps the order of its axes.
bool LayoutMover::isMovable(Operation *layout, Value rematerialized) const {
  Operation *op = rematerialized.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constant.getValue().isSplat();
  auto broadcast = dyn_cast<BroadcastOp>(op);
  auto transpose = dyn_cast<TransposeOp>(layout);
  return broadcast && transpose && llvm::is_sorted(getTransposedDims(broadcast, transpose));
}

Value LayoutMover::moveOnto(OpBuilder &builder, Operation *layout, Value rematerialized) {
  Operation *op = rematerialized.getDefiningOp();
  RankedTensorType type = tensorType(rematerialized).clone(shapeOf(layout->getResult(0)));
  Operation *moved;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type);
    moved = ConstantOp::create(builder, op->getLoc(), splat);
  } else {
    auto broadcast = cast<BroadcastOp>(op);
    SmallVector<int64_t> dims = getTransposedDims(broadcast, cast<TransposeOp>(layout));
    moved = BroadcastOp::create(builder, op->getLoc(), type, broadcast.getOperand(), dims);
  }
  roles.addCopy(moved, op);
  return moved->getResult(0);
}

/// Rewrites layout(f(x, y)) → f(layout(x), layout(y)) if f(x, y) has no other user that requires it, or f is a
/// conversion.
bool LayoutMover::hoist(Operation *layout) {
  Operation *op = layout->getOperand(0).getDefiningOp();
  if (!op || roles.get(op) != FusionRole::Pointwise || !roles.isRecomputable(op) || !feeders.contains(layout))
    return false;
  auto canMove = [&](Value operand) { return !roles.isRematerialized(operand) || isMovable(layout, operand); };
  if (!(roles.isConversion(op) || op->hasOneUse()) || !llvm::all_of(op->getOperands(), canMove))
    return false;
  OpBuilder builder(layout);
  ArrayRef<int64_t> shape = shapeOf(layout->getResult(0));
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
    if (roles.isRematerialized(operand))
      return moveOnto(builder, layout, operand);
    Operation *copy = cloneOn(builder, layout, operand, shape, tensorType(operand).getElementType());
    feeders.insert(copy);
    pending.insert(copy);
    return copy->getResult(0);
  });
  Operation *moved = cloneOn(builder, op, operands, shape, tensorType(op->getResult(0)).getElementType());
  // The move may allow the operands' layout operations to move too.
  for (Operation *user : layout->getUsers())
    if (isLayout(user))
      pending.insert(user);
  layout->getResult(0).replaceAllUsesWith(moved->getResult(0));
  layout->erase();
  if (op->use_empty())
    op->erase();
  return true;
}

/// Rewrites cast(layout(concat(x, y))) → layout(concat(cast(x), cast(y))).
void LayoutMover::sink(Operation *op) {
  if (!roles.isConversion(op))
    return;
  SmallVector<Operation *> layouts;
  Operation *source = op->getOperand(0).getDefiningOp();
  while (isLayout(source) && source->hasOneUse()) {
    layouts.push_back(source);
    source = source->getOperand(0).getDefiningOp();
  }
  if (!source || roles.get(source) != FusionRole::Assembly || source->getNumResults() != 1 || !source->hasOneUse())
    return;
  OpBuilder builder(source);
  Type element = tensorType(op->getResult(0)).getElementType();
  auto parts = llvm::map_to_vector(source->getOperands(), [&](Value part) -> Value {
    return cloneOn(builder, op, part, shapeOf(part), element)->getResult(0);
  });
  Operation *moved = cloneOn(builder, source, parts, shapeOf(source->getResult(0)), element);
  for (Operation *layout : llvm::reverse(layouts))
    moved = cloneOn(builder, layout, moved->getResult(0), shapeOf(layout->getResult(0)), element);
  op->getResult(0).replaceAllUsesWith(moved->getResult(0));
  op->erase();
  for (Operation *layout : layouts)
    layout->erase();
  source->erase();
  ++numMoved;
}

/// Rewrites transpose(slice(x)) → slice(transpose(x)) for interleaved slices, so that a kernel that reads several of
/// them can read x.
void LayoutMover::exchange(TransposeOp transpose) {
  auto slice = transpose.getOperand().getDefiningOp<SliceOp>();
  if (!slice || !isInterleaved(slice) || transpose.getPerm().back() != slice.getResult().getType().getRank() - 1)
    return;
  auto permute = [&](ArrayRef<int64_t> numbers) {
    return llvm::map_to_vector(transpose.getPerm(), [&](int64_t axis) { return numbers[axis]; });
  };
  OpBuilder builder(transpose);
  Value whole = slice.getOperand();
  Type element = tensorType(whole).getElementType();
  Value transposed = cloneOn(builder, transpose, whole, permute(shapeOf(whole)), element)->getResult(0);
  Operation *moved = cloneOn(builder, slice, transposed, shapeOf(transpose.getResult()), element);
  cast<SliceOp>(moved).setOffsets(permute(slice.getOffsets()));
  transpose.getResult().replaceAllUsesWith(moved->getResult(0));
  transpose.erase();
  ++numMoved;
}

/// Hoists layout operations until none can move, the last first.
void LayoutMover::hoistAll() {
  findFeeders();
  for (Operation &op : block)
    if (isLayout(&op))
      pending.insert(&op);
  while (!pending.empty())
    numMoved += hoist(pending.pop_back_val());
}

namespace {
/// Compares operations by their computation and ignores their locations.
struct EqualOperation : DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(const_cast<Operation *>(op), OperationEquivalence::directHashValue,
                                             OperationEquivalence::ignoreHashValue,
                                             OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() || b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a), const_cast<Operation *>(b),
                                                OperationEquivalence::IgnoreLocations);
  }
};
} // namespace

/// Merges equal layout operations and conversions. An operation that moved past several users of a value became several
/// equal operations.
void LayoutMover::mergeEqual() {
  DenseSet<Operation *, EqualOperation> known;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isLayout(&op) && !roles.isConversion(&op))
      continue;
    auto [first, isNew] = known.insert(&op);
    if (isNew)
      continue;
    op.replaceAllUsesWith(*first);
    op.erase();
  }
}

void LayoutMover::eraseDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

unsigned LayoutMover::run() {
  for (Operation &op : llvm::make_early_inc_range(block))
    sink(&op);
  // Visits users before their operands, so that the outermost concatenation absorbs all others.
  SmallVector<ConcatOp> concats(block.getOps<ConcatOp>());
  for (ConcatOp concat : llvm::reverse(concats))
    numMoved += joinConcats(concat);
  eraseDead();
  roles = FusionRoles(block);
  hoistAll();
  for (auto transpose : llvm::make_early_inc_range(block.getOps<TransposeOp>()))
    exchange(transpose);
  if (numMoved != 0)
    mergeEqual();
  // Erases index arithmetic of which all users read moved copies.
  eraseDead();
  return numMoved;
}

unsigned cs336::moveLayoutsToBorders(Block &block) { return LayoutMover(block).run(); }
