//===- ScoreTables.cpp - Gradients of the tables of score functions -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a table is a sum over all pairs of query and key. It is built of the dialect's operations on tensors
// of [batch, heads, queries, keys] elements: the attention is written out once more, with its score function on whole
// tensors, and differentiated. The operations are dead code where no gradient of a table is needed.
//
//===----------------------------------------------------------------------===//

#include "ScalarConversion.h"
#include "ScoreGradients.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace cs336;

namespace {
/// The attention on tensors of [batch, heads, queries, keys].
class WrittenOut {
public:
  WrittenOut(AttentionOp op, ImplicitLocOpBuilder &b)
      : op(op), b(b), sizes(op.getSizes()), compute(getComputeType(tensorType(op.getQuery()).getElementType())),
        shape({sizes.batch, sizes.heads, sizes.queries, sizes.keys}) {}

  FailureOr<SmallVector<Value>> buildGradients(Value gradient);

private:
  Value buildHeads(Value operand);
  Value buildIota(int64_t axis);
  Value broadcastRows(Value rows);
  Value buildScoreGradients(Value score, Value outputGradient);
  Value buildProbabilities(Value score);
  LogicalResult buildFunction(Value scaled);
  FailureOr<Value> buildElement(ElementOp element);
  /// Returns the axes of scores that index an element, or nullopt if its indices are computed.
  static std::optional<SmallVector<int64_t>> getAxes(ElementOp element);
  Value buildPositions(ElementOp element);
  Value reduceToTable(ElementOp element, Value gradient);

  AttentionOp op;
  ImplicitLocOpBuilder &b;
  AttentionOp::Sizes sizes;
  Type compute;
  SmallVector<int64_t> shape;
  /// The values of the score function, as tensors, and the operations that compute them.
  DenseMap<Value, Value> values;
  SmallVector<Operation *> operations;
};
} // namespace

/// Returns the operand as [batch, heads, positions, head_dim] in the type of scores. Key heads are repeated.
Value WrittenOut::buildHeads(Value operand) {
  auto type = RankedTensorType::get(shapeOf(operand), compute);
  if (operand.getType() != type)
    operand = CastOp::create(b, type, operand);
  ArrayRef<int64_t> from = shapeOf(operand);
  SmallVector<int64_t> to = {from[0], from[2], from[1], from[3]};
  Value heads = TransposeOp::create(b, type.clone(to), operand, ArrayRef<int64_t>{0, 2, 1, 3});
  int64_t group = sizes.heads / from[2];
  if (group == 1)
    return heads;
  SmallVector<int64_t> repeated = {to[0], to[1], group, to[2], to[3]}, merged = {to[0], sizes.heads, to[2], to[3]};
  Value groups = BroadcastOp::create(b, type.clone(repeated), heads, ArrayRef<int64_t>{0, 1, 3, 4});
  return ReshapeOp::create(b, type.clone(merged), groups);
}

Value WrittenOut::buildIota(int64_t axis) {
  return IotaOp::create(b, RankedTensorType::get(shape, b.getI32Type()), b.getI64IntegerAttr(axis));
}

Value WrittenOut::broadcastRows(Value rows) {
  return BroadcastOp::create(b, RankedTensorType::get(shape, compute), rows, ArrayRef<int64_t>{0, 1, 2});
}

//===----------------------------------------------------------------------===//
// Elements of tables
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> WrittenOut::getAxes(ElementOp element) {
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
Value WrittenOut::buildPositions(ElementOp element) {
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

FailureOr<Value> WrittenOut::buildElement(ElementOp element) {
  unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber() - score::kFirstTable;
  Value table = op.getTables()[number];
  auto type = tensorType(table).clone(shape);
  if (std::optional<SmallVector<int64_t>> axes = getAxes(element)) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, axes->size()));
    llvm::sort(order, [&](int64_t lhs, int64_t rhs) { return (*axes)[lhs] < (*axes)[rhs]; });
    auto sorted = llvm::map_to_vector(order, [&](int64_t axis) { return (*axes)[axis]; });
    auto permuted = llvm::map_to_vector(order, [&](int64_t axis) { return shapeOf(table)[axis]; });
    // An axis of a table may be longer than the axis of scores that indexes it.
    SmallVector<int64_t> used = llvm::map_to_vector(sorted, [&](int64_t axis) { return shape[axis]; });
    if (!llvm::is_sorted(order))
      table = TransposeOp::create(b, type.clone(permuted), table, order);
    if (permuted != used)
      table = SliceOp::create(b, type.clone(used), table, SmallVector<int64_t>(used.size(), 0));
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

/// Returns the gradient of the element's table: the sum of `gradient` over all pairs that read an element.
Value WrittenOut::reduceToTable(ElementOp element, Value gradient) {
  RankedTensorType table = tensorType(element.getTable());
  std::optional<SmallVector<int64_t>> axes = getAxes(element);
  if (!axes) {
    SmallVector<int64_t> withColumn(shape);
    withColumn.push_back(1);
    Value column = ReshapeOp::create(b, tensorType(gradient).clone(withColumn), gradient);
    Value sums = EmbeddingGradOp::create(b, table.clone({table.getNumElements(), 1}), buildPositions(element), column);
    return ReshapeOp::create(b, table, sums);
  }
  SmallVector<int64_t> sorted(*axes), reduced, kept;
  llvm::sort(sorted);
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (llvm::is_contained(sorted, axis))
      kept.push_back(shape[axis]);
    else
      reduced.push_back(axis);
  Value sums = gradient;
  if (!reduced.empty())
    sums = ReduceOp::create(b, table.clone(kept), ReduceKind::Sum, gradient, reduced);
  SmallVector<int64_t> perm =
      llvm::map_to_vector(*axes, [&](int64_t axis) -> int64_t { return llvm::find(sorted, axis) - sorted.begin(); });
  auto permuted = llvm::map_to_vector(*axes, [&](int64_t axis) { return shape[axis]; });
  if (!llvm::is_sorted(perm))
    sums = TransposeOp::create(b, table.clone(permuted), sums, perm);
  if (ArrayRef(permuted) != table.getShape())
    sums = PadOp::create(b, table, sums, SmallVector<int64_t>(permuted.size(), 0));
  return sums;
}

//===----------------------------------------------------------------------===//
// Scores and their gradients
//===----------------------------------------------------------------------===//

/// Writes out the score function on tensors.
LogicalResult WrittenOut::buildFunction(Value scaled) {
  Block &function = op.getScoreFunction();
  values[function.getArgument(score::kScore)] = scaled;
  for (int64_t axis = 0; axis < 4; ++axis)
    values[function.getArgument(score::kBatch + axis)] = buildIota(axis);
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
Value WrittenOut::buildProbabilities(Value score) {
  Value sums = op.getLogSumExp();
  auto ofRows = tensorType(sums), ofScores = tensorType(score);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value isEmpty = CompareOp::create(b, Predicate::EQ, sums, ConstantOp::create(b, ofRows, -kInfinity));
  Value shift = SelectOp::create(b, isEmpty, ConstantOp::create(b, ofRows, 0.0), sums);
  if (op.getCausal()) {
    Value isSeen = CompareOp::create(b, Predicate::GE, buildIota(2), buildIota(3));
    score = SelectOp::create(b, isSeen, score, ConstantOp::create(b, ofScores, -kInfinity));
  }
  return ExpOp::create(b, SubOp::create(b, score, broadcastRows(shift)));
}

/// Returns p·(dO·Vᵀ − Σ p·(dO·Vᵀ)).
Value WrittenOut::buildScoreGradients(Value score, Value outputGradient) {
  Value probabilities = buildProbabilities(score);
  Value slopes = MatmulOp::create(b, buildHeads(outputGradient), buildHeads(op.getValue()), /*transposeA=*/false,
                                  /*transposeB=*/true, op.getPrecision());
  Value weighted = MulOp::create(b, probabilities, slopes);
  Value delta = ReduceOp::create(b, op.getLogSumExp().getType(), ReduceKind::Sum, weighted, ArrayRef<int64_t>{3});
  return MulOp::create(b, probabilities, SubOp::create(b, slopes, broadcastRows(delta)));
}

FailureOr<SmallVector<Value>> WrittenOut::buildGradients(Value gradient) {
  Block &function = op.getScoreFunction();
  SmallVector<ElementOp> elements;
  for (auto element : function.getOps<ElementOp>())
    if (isa<FloatType>(tensorType(element.getTable()).getElementType()))
      elements.push_back(element);
  SmallVector<Value> ofTables(op.getTables().size());
  if (elements.empty())
    return ofTables;

  Value dots = MatmulOp::create(b, buildHeads(op.getQuery()), buildHeads(op.getKey()), /*transposeA=*/false,
                                /*transposeB=*/true, op.getPrecision());
  Value scaled = MulOp::create(b, dots, ConstantOp::create(b, tensorType(dots), op.getScale().convertToDouble()));
  if (failed(buildFunction(scaled)))
    return failure();
  Value score = values.lookup(function.getTerminator()->getOperand(0));
  auto sources = llvm::map_to_vector(elements, [&](ElementOp element) { return values.lookup(element.getResult()); });
  DenseMap<Value, Value> gradients{{score, buildScoreGradients(score, gradient)}};
  if (failed(cs336::buildGradients(b, operations, sources, gradients)))
    return failure();
  for (auto [element, source] : llvm::zip_equal(elements, sources)) {
    Value ofElement = gradients.lookup(source);
    if (!ofElement)
      continue;
    unsigned number = cast<BlockArgument>(element.getTable()).getArgNumber() - score::kFirstTable;
    Value ofTable = reduceToTable(element, ofElement);
    ofTables[number] = ofTables[number] ? AddOp::create(b, ofTables[number], ofTable) : ofTable;
  }
  return ofTables;
}

FailureOr<SmallVector<Value>> cs336::buildTableGradients(AttentionOp op, OpBuilder &builder, Value gradient) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  return WrittenOut(op, b).buildGradients(gradient);
}
