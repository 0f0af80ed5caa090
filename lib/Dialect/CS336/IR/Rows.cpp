//===- Rows.cpp - Operations that keep rows apart -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Rows.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/Strides.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace cs336;

bool cs336::isRowBroadcast(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  auto view = dyn_cast<ViewOpInterface>(op);
  if (!fusible || !view || !fusible.isRematerializable())
    return false;
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  auto dense = MemRefType::get(operand.getShape(), operand.getElementType());
  FailureOr<MemRefType> type = view.getViewType(dense);
  SmallVector<int64_t> from, to;
  int64_t offset;
  if (failed(type) || failed(getStridesAndOffset(dense, from, offset)) ||
      failed(getStridesAndOffset(*type, to, offset)))
    return false;
  return to.size() >= from.size() && ArrayRef(to).take_front(from.size()) == ArrayRef(from) &&
         llvm::all_of(ArrayRef(to).drop_front(from.size()), [](int64_t stride) { return stride == 0; });
}

bool cs336::isOfRows(Value operand, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = shapeOf(operand);
  bool isMask = cast<RankedTensorType>(operand.getType()).getElementType().isInteger(1) && !own.empty() &&
                own.size() <= shape.size();
  return own == shape || (isMask && own == shape.take_back(own.size()));
}

/// Returns the axes along which a reduction combines elements of rows of `shape`, or nullopt for other reductions.
static std::optional<SmallVector<int64_t>> getRowAxes(FusibleOpInterface reduction, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> axes = reduction.getReducedAxes();
  int64_t rank = shape.size(), kept = rank - axes.size();
  auto isAlike = [&](Value operand) { return isOfRows(operand, shape); };
  if (!llvm::equal(axes, llvm::seq(kept, rank)) || !llvm::all_of(reduction->getOperands(), isAlike))
    return std::nullopt;
  return axes;
}

bool cs336::keepsRowsApart(Block &block, ArrayRef<int64_t> shape) {
  std::optional<SmallVector<int64_t>> axes;
  // Values that depend on the block's arguments, and the subset that is more than rearranged elements.
  llvm::SmallDenseSet<Value> read, computed;
  read.insert(block.args_begin(), block.args_end());
  for (Operation &op : block.without_terminator()) {
    auto fusible = dyn_cast<FusibleOpInterface>(op);
    if (!fusible)
      return false;
    auto isIn = [&](const auto &set) {
      return llvm::any_of(op.getOperands(), [&](Value operand) { return set.contains(operand); });
    };
    bool isMoved = fusible.isRematerializable();
    if (isMoved && isIn(computed) && !isRowBroadcast(&op))
      return false;
    if (isMoved ? isIn(computed) : isIn(read))
      computed.insert(op.result_begin(), op.result_end());
    if (isIn(read))
      read.insert(op.result_begin(), op.result_end());
    if (isMoved || fusible.getFusionKind() == FusionKind::Pointwise)
      continue;
    if (fusible.getFusionKind() != FusionKind::RowReduction)
      return false;
    std::optional<SmallVector<int64_t>> own = getRowAxes(fusible, shape);
    if (!own || (axes && *axes != *own))
      return false;
    axes = std::move(own);
  }
  if (!axes)
    return true;
  // Outputs are elements of rows, or values per row.
  ArrayRef<int64_t> rows = shape.drop_back(axes->size());
  return llvm::all_of(block.getTerminator()->getOperands(),
                      [&](Value result) { return shapeOf(result) == shape || shapeOf(result) == rows; });
}
