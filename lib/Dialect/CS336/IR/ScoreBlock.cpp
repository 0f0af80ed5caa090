//===- ScoreBlock.cpp - Attention written out for a block of scores -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBlock.h"

#include "ScoreGradients.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;

ScoreBlock::ScoreBlock(AttentionOp op, ImplicitLocOpBuilder &b, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape)
    : op(op), b(b), compute(tensorType(op.getLogSumExp()).getElementType()), offsets(offsets), shape(shape) {}

/// Returns the box of `value` at these offsets.
static Value slice(ImplicitLocOpBuilder &b, Value value, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  if (shapeOf(value) == sizes)
    return value;
  return SliceOp::create(b, tensorType(value).clone(sizes), value, offsets);
}

Value ScoreBlock::buildHeads(Value operand, int64_t axis) {
  ArrayRef<int64_t> whole = shapeOf(operand);
  int64_t group = op.getSizes().heads / whole[2];
  int64_t firstHead = offsets[1] / group, heads = (offsets[1] + shape[1] - 1) / group + 1 - firstHead;
  operand = slice(b, operand, {offsets[0], offsets[axis], firstHead, 0}, {shape[0], shape[axis], heads, whole[3]});
  auto type = RankedTensorType::get(shapeOf(operand), compute);
  if (operand.getType() != type)
    operand = CastOp::create(b, type, operand);
  SmallVector<int64_t> to = {shape[0], heads, shape[axis], whole[3]};
  Value result = TransposeOp::create(b, type.clone(to), operand, ArrayRef<int64_t>{0, 2, 1, 3});
  if (group == 1)
    return result;
  SmallVector<int64_t> repeated = {to[0], heads, group, to[2], to[3]}, merged = {to[0], heads * group, to[2], to[3]};
  Value groups = BroadcastOp::create(b, type.clone(repeated), result, ArrayRef<int64_t>{0, 1, 3, 4});
  Value all = ReshapeOp::create(b, type.clone(merged), groups);
  return slice(b, all, {0, offsets[1] - firstHead * group, 0, 0}, {to[0], shape[1], to[2], to[3]});
}

Value ScoreBlock::buildIndex(int64_t axis) {
  AttentionOp::Sizes sizes = op.getSizes();
  SmallVector<int64_t> whole = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  auto type = RankedTensorType::get(shape, b.getI32Type());
  if (shape == whole)
    return IotaOp::create(b, type, b.getI64IntegerAttr(axis));
  // The barrier keeps passes from computing the same values for several blocks at once, whose tensors would then be in
  // memory together. Indices are loaded, so that blocks have the same kernels.
  Value all = IotaOp::create(b, type.clone({whole[axis]}), b.getI64IntegerAttr(0));
  Value own = BarrierOp::create(b, slice(b, all, {offsets[axis]}, {shape[axis]}));
  return BroadcastOp::create(b, type, own, ArrayRef<int64_t>{axis});
}

Value ScoreBlock::broadcastRows(Value rows) {
  return BroadcastOp::create(b, RankedTensorType::get(shape, compute), rows, ArrayRef<int64_t>{0, 1, 2});
}

//===----------------------------------------------------------------------===//
// Elements of tables
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> cs336::getIndexAxes(ElementOp element) {
  SmallVector<int64_t> axes;
  for (Value index : element.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    int64_t axis = argument ? static_cast<int64_t>(argument.getArgNumber()) - score::kBatch : -1;
    if (axis < 0 || llvm::is_contained(axes, axis))
      return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

/// Returns the row-major positions of the elements in their table.
Value ScoreBlock::buildPositions(ElementOp element) {
  Value positions;
  for (auto [index, size] : llvm::zip_equal(element.getIndices(), shapeOf(element.getTable()))) {
    Value next = values.lookup(index);
    if (positions) {
      Value factor = ConstantOp::create(b, tensorType(positions), static_cast<double>(size));
      next = AddOp::create(b, MulOp::create(b, positions, factor), next);
    }
    positions = next;
  }
  return positions;
}

FailureOr<Value> ScoreBlock::buildElement(ElementOp element) {
  unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber() - score::kFirstTable;
  Value table = op.getTables()[number];
  auto type = tensorType(table).clone(shape);
  if (std::optional<SmallVector<int64_t>> axes = getIndexAxes(element)) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, axes->size()));
    llvm::sort(order, [&](int64_t lhs, int64_t rhs) { return (*axes)[lhs] < (*axes)[rhs]; });
    auto sorted = llvm::map_to_vector(order, [&](int64_t axis) { return (*axes)[axis]; });
    auto permuted = llvm::map_to_vector(order, [&](int64_t axis) { return shapeOf(table)[axis]; });
    // An axis of a table may be longer than the axis of scores that indexes it.
    auto used = llvm::map_to_vector(sorted, [&](int64_t axis) { return shape[axis]; });
    auto first = llvm::map_to_vector(sorted, [&](int64_t axis) { return offsets[axis]; });
    if (!llvm::is_sorted(order))
      table = TransposeOp::create(b, type.clone(permuted), table, order);
    table = slice(b, table, first, used);
    return BroadcastOp::create(b, type, table, sorted).getResult();
  }
  if (!isa<FloatType>(type.getElementType()))
    return element.emitOpError() << "reads integers at computed indices, so that gradients of tables have no form";
  Value rows = ReshapeOp::create(b, type.clone({tensorType(table).getNumElements(), 1}), table);
  SmallVector<int64_t> withColumn(shape);
  withColumn.push_back(1);
  Value columns = EmbeddingOp::create(b, type.clone(withColumn), rows, buildPositions(element));
  return ReshapeOp::create(b, type, columns).getResult();
}

/// Returns the sum of `gradient` over all pairs of the block that read the same element of the table.
Value ScoreBlock::reduceToElement(ElementOp element, Value gradient) {
  RankedTensorType table = tensorType(element.getTable());
  std::optional<SmallVector<int64_t>> axes = getIndexAxes(element);
  if (!axes) {
    SmallVector<int64_t> withColumn(shape);
    withColumn.push_back(1);
    Value column = ReshapeOp::create(b, tensorType(gradient).clone(withColumn), gradient);
    return EmbeddingGradOp::create(b, table.clone({table.getNumElements(), 1}), buildPositions(element), column);
  }
  SmallVector<int64_t> reduced, kept;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (llvm::is_contained(*axes, axis))
      kept.push_back(shape[axis]);
    else
      reduced.push_back(axis);
  return reduced.empty() ? gradient
                         : ReduceOp::create(b, table.clone(kept), ReduceKind::Sum, gradient, reduced).getResult();
}

//===----------------------------------------------------------------------===//
// Scores and their gradients
//===----------------------------------------------------------------------===//

/// Writes out the score function on tensors.
LogicalResult ScoreBlock::buildFunction(Value scaled) {
  Block &function = op.getScoreFunction();
  values[function.getArgument(score::kScore)] = scaled;
  for (int64_t axis = 0; axis < 4; ++axis)
    values[function.getArgument(score::kBatch + axis)] = buildIndex(axis);
  for (Operation &inner : function.without_terminator()) {
    Value result = inner.getResult(0);
    auto type = tensorType(result).clone(shape);
    if (auto element = dyn_cast<ElementOp>(inner)) {
      FailureOr<Value> value = buildElement(element);
      if (failed(value))
        return failure();
      values[result] = *value;
    } else if (auto constant = dyn_cast<ConstantOp>(inner)) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      values[result] = ConstantOp::create(b, type, splat.resizeSplat(type));
    } else {
      IRMapping mapping;
      for (Value operand : inner.getOperands())
        mapping.map(operand, values.lookup(operand));
      Operation *whole = b.clone(inner, mapping);
      whole->getResult(0).setType(type);
      values[result] = whole->getResult(0);
      operations.push_back(whole);
    }
  }
  return success();
}

/// Returns e^(score − log_sum_exp); 0 in rows that see nothing.
Value ScoreBlock::buildProbabilities(Value score) {
  ArrayRef<int64_t> rows(shape);
  Value sums = slice(b, op.getLogSumExp(), ArrayRef(offsets).drop_back(), rows.drop_back());
  auto ofRows = tensorType(sums), ofScores = tensorType(score);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value isEmpty = CompareOp::create(b, Predicate::EQ, sums, ConstantOp::create(b, ofRows, -kInfinity));
  Value shift = SelectOp::create(b, isEmpty, ConstantOp::create(b, ofRows, 0.0), sums);
  if (op.getCausal()) {
    Block &function = op.getScoreFunction();
    Value isSeen = CompareOp::create(b, Predicate::GE, values.lookup(function.getArgument(score::kQuery)),
                                     values.lookup(function.getArgument(score::kKey)));
    score = SelectOp::create(b, isSeen, score, ConstantOp::create(b, ofScores, -kInfinity));
  }
  return ExpOp::create(b, SubOp::create(b, score, broadcastRows(shift)));
}

/// Returns p·(dO·Vᵀ − Σ p·(dO·Vᵀ)).
Value ScoreBlock::buildScoreGradients(Value score, Value outputGradient) {
  Value probabilities = buildProbabilities(score);
  Value slopes = MatmulOp::create(b, buildHeads(outputGradient, 2), buildHeads(op.getValue(), 3), /*transposeA=*/false,
                                  /*transposeB=*/true, op.getPrecision());
  Value weighted = MulOp::create(b, probabilities, slopes);
  auto ofRows = tensorType(score).clone(ArrayRef(shape).drop_back());
  Value delta = ReduceOp::create(b, ofRows, ReduceKind::Sum, weighted, ArrayRef<int64_t>{3});
  return MulOp::create(b, probabilities, SubOp::create(b, slopes, broadcastRows(delta)));
}

FailureOr<SmallVector<Value>> ScoreBlock::buildContributions(ArrayRef<ElementOp> elements, Value gradient) {
  Value dots = MatmulOp::create(b, buildHeads(op.getQuery(), 2), buildHeads(op.getKey(), 3), /*transposeA=*/false,
                                /*transposeB=*/true, op.getPrecision());
  Value scaled = MulOp::create(b, dots, ConstantOp::create(b, tensorType(dots), op.getScale().convertToDouble()));
  if (failed(buildFunction(scaled)))
    return failure();
  Value score = values.lookup(op.getScoreFunction().getTerminator()->getOperand(0));
  auto sources = llvm::map_to_vector(elements, [&](ElementOp element) { return values.lookup(element.getResult()); });
  DenseMap<Value, Value> gradients{{score, buildScoreGradients(score, gradient)}};
  if (failed(buildGradients(b, operations, sources, gradients)))
    return failure();
  SmallVector<Value> contributions;
  for (auto [element, source] : llvm::zip_equal(elements, sources)) {
    Value ofElement = gradients.lookup(source);
    contributions.push_back(ofElement ? reduceToElement(element, ofElement) : Value());
  }
  return contributions;
}
