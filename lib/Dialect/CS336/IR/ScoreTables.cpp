//===- ScoreTables.cpp - Gradients of the tables of score functions -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a table is a sum over all pairs of query and key. It is built of the dialect's operations on blocks
// of scores: for each block, the attention is written out once more, with its score function on whole tensors, and
// differentiated. The operations are dead code where no gradient of a table is needed.
//
//===----------------------------------------------------------------------===//

#include "ScoreBlock.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TableBlocks.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

/// Batches, heads and queries.
static constexpr int64_t kDividedAxes = 3;

static int64_t getTableBlockBytes(AttentionOp op) {
  auto bytes = op->getAttrOfType<IntegerAttr>(kTableBlockBytesAttr);
  return bytes ? bytes.getInt() : kDefaultTableBlockBytes;
}

namespace {
/// The sums of blocks of scores.
class BlockSums {
public:
  BlockSums(AttentionOp op, ImplicitLocOpBuilder &b, Value gradient) : op(op), b(b), gradient(gradient) {
    AttentionOp::Sizes sizes = op.getSizes();
    whole = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
    for (auto element : op.getScoreFunction().getOps<ElementOp>())
      if (isa<FloatType>(tensorType(element.getTable()).getElementType()))
        elements.push_back(element);
  }

  /// Returns the gradients of the tables.
  FailureOr<SmallVector<Value>> build();

private:
  void chooseBlock(int64_t maxBytes);
  /// Returns the contributions of `shape` scores at `offsets`, which are divided into blocks from `axis` on.
  FailureOr<SmallVector<Value>> sum(int64_t axis, SmallVector<int64_t> offsets, SmallVector<int64_t> shape);
  /// Returns the gradient of the element's table.
  Value finish(ElementOp element, Value sums);

  AttentionOp op;
  ImplicitLocOpBuilder &b;
  Value gradient;
  SmallVector<ElementOp> elements;
  /// The sizes of all scores and of the largest block: [batch, heads, queries, keys].
  SmallVector<int64_t> whole, block;
};
} // namespace

/// Divides batches, then heads, then queries, until a block of scores takes at most `maxBytes` or has one row.
void BlockSums::chooseBlock(int64_t maxBytes) {
  block = whole;
  int64_t elementBytes = tensorType(op.getLogSumExp()).getElementTypeBitWidth() / 8;
  for (int64_t axis = 0; axis < kDividedAxes; ++axis) {
    int64_t bytesPerIndex = elementBytes;
    for (int64_t size : ArrayRef(block).drop_front(axis + 1))
      bytesPerIndex = multiplySaturating(bytesPerIndex, size);
    int64_t parts = llvm::divideCeilSigned(block[axis], std::max<int64_t>(1, maxBytes / bytesPerIndex));
    // Parts of nearly the same size.
    block[axis] = llvm::divideCeilSigned(block[axis], parts);
    if (bytesPerIndex <= maxBytes)
      return;
  }
}

FailureOr<SmallVector<Value>> BlockSums::sum(int64_t axis, SmallVector<int64_t> offsets, SmallVector<int64_t> shape) {
  if (axis == kDividedAxes)
    return ScoreBlock(op, b, offsets, shape).buildContributions(elements, gradient);
  // One list per element: parts along the axis if it indexes the element, or else their sum so far.
  SmallVector<SmallVector<Value>> parts(elements.size());
  for (int64_t first = 0; first < whole[axis]; first += block[axis]) {
    offsets[axis] = first;
    shape[axis] = std::min(block[axis], whole[axis] - first);
    FailureOr<SmallVector<Value>> next = sum(axis + 1, offsets, shape);
    if (failed(next))
      return failure();
    for (auto [element, list, value] : llvm::zip_equal(elements, parts, *next)) {
      std::optional<SmallVector<int64_t>> axes = getIndexAxes(element);
      if (!value)
        continue;
      if (list.empty() || (axes && llvm::is_contained(*axes, axis)))
        list.push_back(value);
      else
        list.front() = AddOp::create(b, list.front(), value);
    }
  }
  return llvm::map_to_vector(llvm::zip_equal(elements, parts), [&](auto pair) -> Value {
    auto &[element, list] = pair;
    if (list.size() <= 1)
      return list.empty() ? Value() : list.front();
    int64_t position = llvm::count_if(*getIndexAxes(element), [&](int64_t other) { return other < axis; });
    SmallVector<int64_t> sizes(shapeOf(list.front()));
    sizes[position] = whole[axis];
    return ConcatOp::create(b, tensorType(list.front()).clone(sizes), position, list);
  });
}

Value BlockSums::finish(ElementOp element, Value sums) {
  RankedTensorType table = tensorType(element.getTable());
  std::optional<SmallVector<int64_t>> axes = getIndexAxes(element);
  if (!axes)
    return ReshapeOp::create(b, table, sums);
  SmallVector<int64_t> sorted(*axes);
  llvm::sort(sorted);
  SmallVector<int64_t> perm =
      llvm::map_to_vector(*axes, [&](int64_t axis) -> int64_t { return llvm::find(sorted, axis) - sorted.begin(); });
  auto permuted = llvm::map_to_vector(perm, [&](int64_t axis) { return shapeOf(sums)[axis]; });
  if (!llvm::is_sorted(perm))
    sums = TransposeOp::create(b, table.clone(permuted), sums, perm);
  // An axis of a table may be longer than the axis of scores that indexes it.
  if (ArrayRef(permuted) != table.getShape())
    sums = PadOp::create(b, table, sums, SmallVector<int64_t>(permuted.size(), 0));
  return sums;
}

FailureOr<SmallVector<Value>> BlockSums::build() {
  SmallVector<Value> ofTables(op.getTables().size());
  if (elements.empty())
    return ofTables;
  chooseBlock(getTableBlockBytes(op));
  FailureOr<SmallVector<Value>> sums = sum(0, SmallVector<int64_t>(4, 0), block);
  if (failed(sums))
    return failure();
  for (auto [element, value] : llvm::zip_equal(elements, *sums)) {
    if (!value)
      continue;
    unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber() - score::kFirstTable;
    Value ofTable = finish(element, value);
    ofTables[number] = ofTables[number] ? AddOp::create(b, ofTables[number], ofTable) : ofTable;
  }
  return ofTables;
}

FailureOr<SmallVector<Value>> cs336::buildTableGradients(AttentionOp op, OpBuilder &builder, Value gradient) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  return BlockSums(op, b, gradient).build();
}
