//===- LayoutBorders.cpp - Layout operations at kernels' borders ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutBorders.h"

#include "FusionRoles.h"
#include "JoinConcats.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
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
  bool reachesKernel(Operation *layout) const;
  bool hoist(Operation *layout);
  void sink(Operation *op);
  void mergeEqual();
  bool isMovable(Operation *layout, Value rematerialized) const;
  Value moveOnto(OpBuilder &builder, Operation *layout, Value rematerialized);
  Operation *cloneOn(OpBuilder &builder, Operation *op, ValueRange operands, ArrayRef<int64_t> shape, Type element);

  FusionRoles roles;
  Block &block;
  unsigned numMoved = 0;
};
} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Moves elements and changes nothing else.
bool LayoutMover::isLayout(Operation *op) const {
  return op && roles.get(op) == FusionRole::View && op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         op->getOperand(0).getType() != op->getResult(0).getType();
}

/// A copy of `op` that reads `operands` and has a result of another shape or element type.
Operation *LayoutMover::cloneOn(OpBuilder &builder, Operation *op, ValueRange operands, ArrayRef<int64_t> shape,
                                Type element) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(RankedTensorType::get(shape, element));
  roles.addCopy(copy, op);
  return copy;
}

/// Returns whether a kernel that could compute the operand, too, reads the result.
bool LayoutMover::reachesKernel(Operation *layout) const {
  SmallVector<Operation *> pending{layout};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val()->getUsers()) {
      if (roles.isFusible(user))
        return true;
      if (isLayout(user))
        pending.push_back(user);
    }
  return false;
}

/// The dims of a broadcast whose result is transposed.
static SmallVector<int64_t> getTransposedDims(BroadcastOp broadcast, TransposeOp transpose) {
  SmallVector<int64_t> dims;
  for (int64_t dim : broadcast.getDims())
    dims.push_back(llvm::find(transpose.getPerm(), dim) - transpose.getPerm().begin());
  return dims;
}

/// Returns whether the layout operation on index arithmetic is index arithmetic: on equal elements, or on a broadcast
/// whose operand keeps the order of its axes.
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
  RankedTensorType type = typeOf(rematerialized).clone(getTensorShape(layout->getResult(0)));
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

/// layout(f(x, y)) → f(layout(x), layout(y)), where f(x, y) need not be computed for anybody else, or is a conversion.
bool LayoutMover::hoist(Operation *layout) {
  Operation *op = layout->getOperand(0).getDefiningOp();
  if (!op || roles.get(op) != FusionRole::Pointwise || !roles.isRecomputable(op) || !reachesKernel(layout))
    return false;
  auto canMove = [&](Value operand) { return !roles.isRematerialized(operand) || isMovable(layout, operand); };
  if (!(roles.isConversion(op) || op->hasOneUse()) || !llvm::all_of(op->getOperands(), canMove))
    return false;
  OpBuilder builder(layout);
  ArrayRef<int64_t> shape = getTensorShape(layout->getResult(0));
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
    if (roles.isRematerialized(operand))
      return moveOnto(builder, layout, operand);
    return cloneOn(builder, layout, operand, shape, typeOf(operand).getElementType())->getResult(0);
  });
  Operation *moved = cloneOn(builder, op, operands, shape, typeOf(op->getResult(0)).getElementType());
  layout->getResult(0).replaceAllUsesWith(moved->getResult(0));
  layout->erase();
  if (op->use_empty())
    op->erase();
  ++numMoved;
  return true;
}

/// cast(layout(concat(x, y))) → layout(concat(cast(x), cast(y))).
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
  Type element = typeOf(op->getResult(0)).getElementType();
  auto parts = llvm::map_to_vector(source->getOperands(), [&](Value part) -> Value {
    return cloneOn(builder, op, part, getTensorShape(part), element)->getResult(0);
  });
  Operation *moved = cloneOn(builder, source, parts, getTensorShape(source->getResult(0)), element);
  for (Operation *layout : llvm::reverse(layouts))
    moved = cloneOn(builder, layout, moved->getResult(0), getTensorShape(layout->getResult(0)), element);
  op->getResult(0).replaceAllUsesWith(moved->getResult(0));
  op->erase();
  for (Operation *layout : layouts)
    layout->erase();
  source->erase();
  ++numMoved;
}

/// What moved past several users of one value became several equal operations.
void LayoutMover::mergeEqual() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isLayout(&op) && !roles.isConversion(&op))
      continue;
    for (Operation *known : op.getOperand(0).getUsers())
      if (known != &op && known->getName() == op.getName() && known->getResultTypes() == op.getResultTypes() &&
          known->getAttrDictionary() == op.getAttrDictionary() && known->isBeforeInBlock(&op)) {
        op.replaceAllUsesWith(known);
        op.erase();
        break;
      }
  }
}

unsigned LayoutMover::run() {
  for (Operation &op : llvm::make_early_inc_range(block))
    sink(&op);
  // Users before what they use: the outermost concatenation takes in all others.
  SmallVector<ConcatOp> concats(block.getOps<ConcatOp>());
  for (ConcatOp concat : llvm::reverse(concats))
    numMoved += joinConcats(concat);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  roles = FusionRoles(block);
  // From the last on, as a layout operation that moves stands before; again, as one may have stood in another's way.
  bool isMoved = true;
  while (isMoved) {
    isMoved = false;
    for (Operation *next = block.getTerminator(); Operation *op = next->getPrevNode();) {
      isMoved |= isLayout(op) && hoist(op);
      next = next->getPrevNode() == op ? op : next;
    }
  }
  if (numMoved != 0)
    mergeEqual();
  return numMoved;
}

unsigned cs336::moveLayoutsToBorders(Block &block) { return LayoutMover(block).run(); }
