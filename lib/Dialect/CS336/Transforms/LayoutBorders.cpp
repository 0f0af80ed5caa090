//===- LayoutBorders.cpp - Layout operations at kernels' borders ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutBorders.h"

#include "FusionRoles.h"
#include "mlir/IR/Builders.h"
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
  void hoist(Operation *layout);
  void sink(Operation *op);
  bool isConversion(Operation *op) const;
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

/// Pointwise without arithmetic: a cast. What is zero stays zero.
bool LayoutMover::isConversion(Operation *op) const {
  return roles.get(op) == FusionRole::Pointwise && roles.isRecomputable(op) && op->getNumOperands() == 1 &&
         getOperationFlops(op) == 0;
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

/// Whether a kernel that could compute the operand, too, reads the result.
bool LayoutMover::reachesKernel(Operation *layout) const {
  return llvm::any_of(layout->getUsers(), [&](Operation *user) {
    return roles.isFusible(user) || (isLayout(user) && reachesKernel(user));
  });
}

/// layout(f(x, y)) → f(layout(x), layout(y)), where f(x, y) need not be computed for anybody else, or is a conversion.
void LayoutMover::hoist(Operation *layout) {
  Operation *op = layout->getOperand(0).getDefiningOp();
  if (!op || roles.get(op) != FusionRole::Pointwise || !roles.isRecomputable(op) || !reachesKernel(layout))
    return;
  auto canMove = [&](Value operand) { return !roles.isRematerialized(operand); };
  if (!(isConversion(op) || op->hasOneUse()) || !llvm::all_of(op->getOperands(), canMove))
    return;
  OpBuilder builder(layout);
  ArrayRef<int64_t> shape = getTensorShape(layout->getResult(0));
  SmallVector<Operation *> layouts;
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
    layouts.push_back(cloneOn(builder, layout, operand, shape, typeOf(operand).getElementType()));
    return layouts.back()->getResult(0);
  });
  Operation *moved = cloneOn(builder, op, operands, shape, typeOf(op->getResult(0)).getElementType());
  layout->getResult(0).replaceAllUsesWith(moved->getResult(0));
  layout->erase();
  if (op->use_empty())
    op->erase();
  ++numMoved;
  for (Operation *next : layouts)
    hoist(next);
}

/// cast(layout(concat(x, y))) → layout(concat(cast(x), cast(y))).
void LayoutMover::sink(Operation *op) {
  if (!isConversion(op))
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

unsigned LayoutMover::run() {
  for (Operation &op : llvm::make_early_inc_range(block))
    sink(&op);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isLayout(&op))
      hoist(&op);
  return numMoved;
}

unsigned cs336::moveLayoutsToBorders(Block &block) { return LayoutMover(block).run(); }
