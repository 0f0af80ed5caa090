//===- JoinConcats.cpp - Concatenations of concatenations -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinConcats.h"

#include "FusionRoles.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace cs336;

namespace {
/// A part as a concatenation whose axes are permuted, then merged: axis `i` of the part is the next `groups[i]` axes of
/// the permuted concatenation.
struct Part {
  ConcatOp inner;
  SmallVector<int64_t> perm;
  SmallVector<unsigned> groups;

  SmallVector<int64_t> getPermutedShape() {
    ArrayRef<int64_t> shape = shapeOf(inner.getResult());
    return llvm::map_to_vector(perm, [&](int64_t axis) { return shape[axis]; });
  }
  /// Returns the first permuted axis of the part's axis `axis`.
  unsigned getFirst(unsigned axis) const {
    unsigned first = 0;
    for (unsigned size : ArrayRef(groups).take_front(axis))
      first += size;
    return first;
  }
};
} // namespace

/// Merges groups so that their sizes equal `to`. Fails if an axis would have to be split.
static bool mergeGroups(Part &part, ArrayRef<int64_t> to) {
  SmallVector<int64_t> shape = part.getPermutedShape();
  SmallVector<unsigned> merged;
  unsigned group = 0, axis = 0;
  for (int64_t size : to) {
    unsigned count = 0;
    int64_t product = 1;
    while (group < part.groups.size() && (count == 0 || product < size)) {
      for (unsigned i = 0; i < part.groups[group]; ++i)
        product *= shape[axis++];
      count += part.groups[group++];
    }
    if (product != size || count == 0)
      return false;
    merged.push_back(count);
  }
  if (group != part.groups.size())
    return false;
  part.groups = std::move(merged);
  return true;
}

static void permuteGroups(Part &part, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> axes;
  SmallVector<unsigned> groups;
  for (int64_t axis : perm) {
    unsigned first = part.getFirst(axis);
    groups.push_back(part.groups[axis]);
    axes.append(part.perm.begin() + first, part.perm.begin() + first + groups.back());
  }
  part.perm = std::move(axes);
  part.groups = std::move(groups);
}

/// Matches `value` as layout operations on a concatenation, none of which has other users.
static std::optional<Part> matchPart(Value value) {
  SmallVector<Operation *> layouts;
  Operation *op = value.getDefiningOp();
  while (isa_and_present<ReshapeOp, TransposeOp>(op) && op->hasOneUse()) {
    layouts.push_back(op);
    op = op->getOperand(0).getDefiningOp();
  }
  auto inner = dyn_cast_if_present<ConcatOp>(op);
  if (!inner || !inner->hasOneUse() || layouts.empty())
    return std::nullopt;
  unsigned rank = inner.getType().getRank();
  Part part{inner, llvm::to_vector(llvm::seq<int64_t>(0, rank)), SmallVector<unsigned>(rank, 1)};
  for (Operation *layout : llvm::reverse(layouts)) {
    if (auto transpose = dyn_cast<TransposeOp>(layout))
      permuteGroups(part, transpose.getPerm());
    else if (!mergeGroups(part, shapeOf(layout->getResult(0))))
      return std::nullopt;
  }
  return part;
}

static Value transposeTo(OpBuilder &builder, Value value, ArrayRef<int64_t> perm) {
  if (llvm::equal(perm, llvm::seq<int64_t>(0, perm.size())))
    return value;
  ArrayRef<int64_t> shape = shapeOf(value);
  auto permuted = llvm::map_to_vector(perm, [&](int64_t axis) { return shape[axis]; });
  auto type = cast<RankedTensorType>(value.getType()).clone(permuted);
  return TransposeOp::create(builder, value.getLoc(), type, value, perm);
}

/// Builds the inner concatenation of the permuted parts.
static Value buildPermuted(OpBuilder &builder, Part &part) {
  auto parts = llvm::map_to_vector(part.inner.getOperands(),
                                   [&](Value value) { return transposeTo(builder, value, part.perm); });
  int64_t axis = llvm::find(part.perm, part.inner.getAxis()) - part.perm.begin();
  return ConcatOp::create(builder, part.inner.getLoc(), part.inner.getType().clone(part.getPermutedShape()), axis,
                          parts);
}

bool cs336::joinConcats(ConcatOp outer) {
  auto parts = llvm::map_to_vector(outer.getOperands(), matchPart);
  auto *found = llvm::find_if(parts, [](auto &part) { return part.has_value(); });
  if (found == parts.end())
    return false;
  // All parts get the axes of the first part that is a concatenation. Only the size of the joined axis may differ.
  Part &model = **found;
  SmallVector<int64_t> shape = model.getPermutedShape();
  unsigned head = model.getFirst(outer.getAxis());
  int64_t inner = 1;
  for (int64_t size : ArrayRef(shape).slice(head + 1, model.groups[outer.getAxis()] - 1))
    inner *= size;
  for (auto &&[operand, part] : llvm::zip_equal(outer.getOperands(), parts)) {
    int64_t size = shapeOf(operand)[outer.getAxis()];
    shape[head] = size / inner;
    if (size % inner != 0 || (part && (part->groups != model.groups || part->getPermutedShape() != shape)))
      return false;
  }

  OpBuilder builder(outer);
  SmallVector<Value> joined;
  int64_t heads = 0;
  for (auto &&[operand, part] : llvm::zip_equal(outer.getOperands(), parts)) {
    shape[head] = shapeOf(operand)[outer.getAxis()] / inner;
    heads += shape[head];
    if (part)
      joined.push_back(buildPermuted(builder, *part));
    else
      joined.push_back(ReshapeOp::create(builder, operand.getLoc(), outer.getType().clone(shape), operand));
  }
  shape[head] = heads;
  Value whole = ConcatOp::create(builder, outer.getLoc(), outer.getType().clone(shape), head, joined);
  Value merged = ReshapeOp::create(builder, outer.getLoc(), outer.getType(), whole);
  outer.replaceAllUsesWith(merged);
  return true;
}
