//===- HeadLayout.cpp - Axes of attention's operands ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadLayout.h"

#include "cs336/Dialect/CS336/IR/TensorTypes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace cs336;

//===----------------------------------------------------------------------===//
// Layout operations
//===----------------------------------------------------------------------===//

Value cs336::composeTranspose(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> composed(perm);
  if (auto inner = value.getDefiningOp<TransposeOp>()) {
    for (int64_t &axis : composed)
      axis = inner.getPerm()[axis];
    value = inner.getOperand();
  }
  if (llvm::equal(composed, llvm::seq<int64_t>(0, composed.size())))
    return value;
  auto shape = llvm::map_to_vector(composed, [&](int64_t axis) { return shapeOf(value)[axis]; });
  return TransposeOp::create(builder, loc, tensorType(value).clone(shape), value, composed);
}

static Value composeReshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  while (shapeOf(value) != shape) {
    auto inner = value.getDefiningOp<ReshapeOp>();
    if (!inner)
      return ReshapeOp::create(builder, loc, tensorType(value).clone(shape), value);
    value = inner.getOperand();
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Repeated keys and values
//===----------------------------------------------------------------------===//

/// Looks through operations that repeat a tensor along leading axes and keep the other axes.
HeadLayout::Repeated HeadLayout::peel(Value tensor, bool mayPeel) const {
  size_t rank = leading.size() + 2;
  // All batches share one matrix.
  if (tensorType(tensor).getRank() == 2 && rank > 2)
    return {tensor, leading, SmallVector<bool>(leading.size(), false)};
  Repeated whole{tensor, leading, SmallVector<bool>(leading.size(), true)};
  if (!mayPeel)
    return whole;

  SmallVector<int64_t> sizes(leading);
  auto broadcast = tensor.getDefiningOp<BroadcastOp>();
  if (auto merge = tensor.getDefiningOp<ReshapeOp>()) {
    // Matches a reshape from [..., heads, group, rows, columns] to [..., heads·group, rows, columns].
    broadcast = merge.getOperand().getDefiningOp<BroadcastOp>();
    if (!broadcast || leading.empty())
      return whole;
    ArrayRef<int64_t> shape = shapeOf(broadcast.getResult());
    if (shape.size() != rank + 1 || shape.take_back(2) != shapeOf(tensor).take_back(2) ||
        shape.take_front(leading.size() - 1) != ArrayRef(leading).drop_back() ||
        shape[leading.size() - 1] * shape[leading.size()] != leading.back())
      return whole;
    sizes.assign(shape.begin(), shape.end() - 2);
  }
  if (!broadcast)
    return whole;
  ArrayRef<int64_t> dims = broadcast.getDims();
  int64_t columns = static_cast<int64_t>(sizes.size()) + 1;
  if (dims.size() < 2 || dims.back() != columns || dims[dims.size() - 2] != columns - 1)
    return whole;
  Repeated repeated{broadcast.getOperand(), sizes, SmallVector<bool>(sizes.size(), false)};
  for (int64_t axis : dims.drop_back(2))
    repeated.has[axis] = true;
  return repeated;
}

HeadLayout::HeadLayout(MatmulOp scores, MatmulOp values, OpBuilder &builder)
    : scores(scores), values(values), builder(builder), leading(shapeOf(scores.getResult()).drop_back(2)) {
  key = peel(scores.getRhs(), /*mayPeel=*/true);
  value = peel(values.getRhs(), /*mayPeel=*/true);
  chooseAxes();
}

void HeadLayout::chooseAxes() {
  auto countRepeated = [&] {
    if (key.sizes != value.sizes)
      return size_t(0);
    size_t count = 0;
    while (count < key.sizes.size() && !key.has[key.sizes.size() - 1 - count] &&
           !value.has[key.sizes.size() - 1 - count])
      ++count;
    return count;
  };
  size_t repeated = countRepeated();
  if (repeated == 0) {
    key = peel(scores.getRhs(), /*mayPeel=*/false);
    value = peel(values.getRhs(), /*mayPeel=*/false);
    repeated = countRepeated();
  }
  numKeyAxes = key.sizes.size() - repeated;
  // Keys have an axis of heads if that axis was split, or if there is an axis besides a batch axis.
  bool isSplit = key.sizes.size() != leading.size();
  bool hasKeyHeads = isSplit || numKeyAxes > 1;
  numBatch = hasKeyHeads ? numKeyAxes - 1 : numKeyAxes;
}

//===----------------------------------------------------------------------===//
// Operands and output
//===----------------------------------------------------------------------===//

/// Returns the permutation from the leading axes, rows and columns to batch axes, rows, heads and columns.
static SmallVector<int64_t> getPermutation(size_t numBatch, size_t numLeading, bool isTransposed) {
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, numBatch));
  int64_t rows = numLeading + (isTransposed ? 1 : 0), columns = numLeading + (isTransposed ? 0 : 1);
  perm.push_back(rows);
  llvm::append_range(perm, llvm::seq<int64_t>(numBatch, numLeading));
  perm.push_back(columns);
  return perm;
}

Value HeadLayout::getQuery() {
  Value query = scores.getLhs();
  auto perm = getPermutation(numBatch, leading.size(), scores.getTransposeA());
  auto sizes = scores.getSizes();
  Value heads = composeTranspose(builder, scores.getLoc(), query, perm);
  ArrayRef<int64_t> axes = leading;
  return composeReshape(
      builder, scores.getLoc(), heads,
      {computeProduct(axes.take_front(numBatch)), sizes.m, computeProduct(axes.drop_front(numBatch)), sizes.k});
}

Value HeadLayout::getKeyOrValue(const Repeated &repeated, bool isTransposed) {
  Location loc = isTransposed ? values.getLoc() : scores.getLoc();
  Value tensor = repeated.tensor;
  ArrayRef<int64_t> axes = ArrayRef(repeated.sizes).take_front(numKeyAxes);
  ArrayRef<bool> has = ArrayRef(repeated.has).take_front(numKeyAxes);
  // An axis stays repeated if it is not an axis of heads, or if only keys or only values are repeated along it.
  if (!llvm::all_of(has, [](bool hasAxis) { return hasAxis; })) {
    SmallVector<int64_t> dims, shape(axes);
    for (auto [axis, hasAxis] : llvm::enumerate(has))
      if (hasAxis)
        dims.push_back(axis);
    dims.append({static_cast<int64_t>(numKeyAxes), static_cast<int64_t>(numKeyAxes) + 1});
    llvm::append_range(shape, shapeOf(tensor).take_back(2));
    tensor = BroadcastOp::create(builder, loc, tensorType(tensor).clone(shape), tensor, dims);
  }
  auto perm = getPermutation(numBatch, numKeyAxes, isTransposed);
  int64_t columns = shapeOf(tensor)[perm.back()], rows = shapeOf(tensor)[perm[numBatch]];
  return composeReshape(
      builder, loc, composeTranspose(builder, loc, tensor, perm),
      {computeProduct(axes.take_front(numBatch)), rows, computeProduct(axes.drop_front(numBatch)), columns});
}

Value HeadLayout::getKey() { return getKeyOrValue(key, !scores.getTransposeB()); }
Value HeadLayout::getValue() { return getKeyOrValue(value, values.getTransposeB()); }

Value HeadLayout::getMatmulResult(Value output) {
  Location loc = values.getLoc();
  ArrayRef<int64_t> axes = leading, sizes = shapeOf(output);
  SmallVector<int64_t> shape(axes.take_front(numBatch));
  shape.push_back(sizes[1]);
  llvm::append_range(shape, axes.drop_front(numBatch));
  shape.push_back(sizes[3]);
  SmallVector<int64_t> inverse(shape.size());
  for (auto [axis, source] : llvm::enumerate(getPermutation(numBatch, leading.size(), /*isTransposed=*/false)))
    inverse[source] = static_cast<int64_t>(axis);
  return composeTranspose(builder, loc, composeReshape(builder, loc, output, shape), inverse);
}
