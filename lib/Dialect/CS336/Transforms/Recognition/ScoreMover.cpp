//===- ScoreMover.cpp - From tensors to a score function ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreMover.h"

#include "../ScaleAndMask.h"
#include "EraseDead.h"
#include "OperandAxes.h"
#include "VisibleKeys.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace cs336;

static FloatType getScoreType(Value scores) { return cast<FloatType>(tensorType(scores).getElementType()); }

ScoreMover::ScoreMover(const AttentionMatch &match, size_t numBatchAxes, OpBuilder &outer)
    : match(match), numBatchAxes(static_cast<int64_t>(numBatchAxes)), outer(outer), inner(outer.getContext()),
      loc(match.values->getLoc()), shape(shapeOf(match.functionResult)), scoreType(getScoreType(match.functionResult)),
      compute(scoreType.isF64() ? scoreType : Float32Type::get(outer.getContext())) {}

SmallVector<Value> ScoreMover::build(Region &region) {
  function = &createScoreFunction(region, compute, {}, loc);
  inner.setInsertionPointToStart(function);
  Value score = move(match.functionResult, getAllAxes(static_cast<int64_t>(shape.size())));
  if (SoftmaxOp softmax = match.softmax) {
    auto type = getScalarType(compute);
    double scale = softmax.getScale().convertToDouble();
    if (scale != 1)
      score = MulOp::create(inner, loc, score, ConstantOp::create(inner, loc, type, scale));
    if (Value mask = softmax.getMask()) {
      Value hidden = ConstantOp::create(inner, loc, type, -std::numeric_limits<double>::infinity());
      score = SelectOp::create(inner, loc, move(mask, getAllAxes(rankOf(mask))), score, hidden);
    }
  }
  YieldOp::create(inner, loc, score);
  eraseUnusedTables();
  return std::move(tables);
}

void ScoreMover::eraseUnusedTables() {
  eraseDead(llvm::map_to_vector(function->without_terminator(), [](Operation &op) { return &op; }));
  for (size_t table = tables.size(); table-- > 0;) {
    unsigned number = score::kFirstTable + table;
    if (!function->getArgument(number).use_empty())
      continue;
    function->eraseArgument(number);
    tables.erase(tables.begin() + table);
  }
}

//===----------------------------------------------------------------------===//
// Axes and types
//===----------------------------------------------------------------------===//

/// Returns the last `rank` axes of scores.
ScoreMover::Axes ScoreMover::getAllAxes(int64_t rank) const {
  Axes axes;
  int64_t scores = static_cast<int64_t>(shape.size());
  for (int64_t axis = scores - rank; axis < scores; ++axis)
    axes.push_back(shape[axis] == 1 ? std::nullopt : std::optional(axis));
  return axes;
}

std::pair<int64_t, int64_t> ScoreMover::getGroup(int64_t axis) const {
  int64_t numLeading = static_cast<int64_t>(shape.size()) - 2;
  if (axis >= numLeading)
    return {axis, axis + 1};
  return axis < numBatchAxes ? std::pair<int64_t, int64_t>(0, numBatchAxes)
                             : std::pair<int64_t, int64_t>(numBatchAxes, numLeading);
}

Value ScoreMover::getIndex(int64_t axis) const {
  auto [begin, end] = getGroup(axis);
  if (computeProduct(ArrayRef(shape).slice(begin, end - begin)) != shape[axis])
    return {};
  int64_t numLeading = static_cast<int64_t>(shape.size()) - 2;
  unsigned argument = axis == numLeading       ? score::kQuery
                      : axis == numLeading + 1 ? score::kKey
                      : axis < numBatchAxes    ? score::kBatch
                                               : score::kHead;
  return function->getArgument(argument);
}

RankedTensorType ScoreMover::getScalarType(Type type) const {
  Type element = getElementTypeOrSelf(type);
  return RankedTensorType::get({}, isa<FloatType>(element) ? Type(compute) : element);
}

Value ScoreMover::convert(Value value, Type element) {
  auto type = RankedTensorType::get({}, element);
  return value.getType() == type ? value : CastOp::create(inner, loc, type, value).getResult();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Value ScoreMover::getTable(Value tensor) {
  auto *known = llvm::find(tables, tensor);
  if (known != tables.end())
    return function->getArgument(score::kFirstTable + (known - tables.begin()));
  tables.push_back(tensor);
  return function->addArgument(tensor.getType(), loc);
}

Value ScoreMover::readElement(Value tensor, ValueRange indices) {
  Value element = ElementOp::create(inner, loc, getTable(tensor), indices);
  Type type = tensorType(element).getElementType();
  return isa<FloatType>(type) ? convert(element, compute) : element;
}

/// Brings the tensor's axes into the order of scores, repeats it along missing axes of heads or batches if it has some
/// of them, and merges these.
Value ScoreMover::readTable(Value tensor, Axes axes) {
  // Drops axes of size 1.
  SmallVector<int64_t> present;
  for (std::optional<int64_t> axis : axes)
    if (axis)
      present.push_back(*axis);
  auto getSizes = [&](ArrayRef<int64_t> of) {
    return llvm::map_to_vector(of, [&](int64_t axis) { return shape[axis]; });
  };
  auto type = tensorType(tensor);
  auto reshape = [&](ArrayRef<int64_t> sizes) {
    if (shapeOf(tensor) != sizes)
      tensor = ReshapeOp::create(outer, loc, type.clone(sizes), tensor);
  };
  reshape(getSizes(present));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, present.size()));
  llvm::sort(order, [&](int64_t lhs, int64_t rhs) { return present[lhs] < present[rhs]; });
  if (!llvm::is_sorted(order)) {
    present = llvm::map_to_vector(order, [&](int64_t axis) { return present[axis]; });
    tensor = TransposeOp::create(outer, loc, type.clone(getSizes(present)), tensor, order);
  }

  SmallVector<int64_t> whole, merged;
  SmallVector<Value> indices;
  for (int64_t axis = 0, rank = static_cast<int64_t>(shape.size()); axis < rank; axis = getGroup(axis).second) {
    auto [begin, end] = getGroup(axis);
    auto isInGroup = [begin = begin, end = end](int64_t each) { return each >= begin && each < end; };
    if (llvm::none_of(present, isInGroup))
      continue;
    for (int64_t each = begin; each < end; ++each)
      if (shape[each] != 1)
        whole.push_back(each);
    merged.push_back(computeProduct(ArrayRef(shape).slice(begin, end - begin)));
    int64_t numLeading = rank - 2;
    indices.push_back(function->getArgument(begin == numLeading       ? score::kQuery
                                            : begin == numLeading + 1 ? score::kKey
                                            : begin < numBatchAxes    ? score::kBatch
                                                                      : score::kHead));
  }
  if (whole != present) {
    auto dims =
        llvm::map_to_vector(present, [&](int64_t axis) -> int64_t { return llvm::find(whole, axis) - whole.begin(); });
    tensor = BroadcastOp::create(outer, loc, type.clone(getSizes(whole)), tensor, dims);
  }
  reshape(merged);
  return readElement(tensor, indices);
}

/// Returns whether the value is computed from indices and constants by linear arithmetic.
static bool isIndexArithmetic(Value value) {
  SmallVector<Value> pending = {value};
  for (unsigned visited = 0; !pending.empty(); ++visited) {
    // Index arithmetic has far fewer operations.
    if (visited == 64)
      return false;
    Value next = pending.pop_back_val();
    if (matchPattern(next, m_Constant()) && !getSplatNumber(next) && isa<FloatType>(tensorType(next).getElementType()))
      return false;
    Operation *op = next.getDefiningOp();
    if (!isa_and_present<IotaOp, ConstantOp, AddOp, SubOp, MulOp, NegOp, CastOp, BroadcastOp, TransposeOp, ReshapeOp>(
            op))
      return false;
    llvm::append_range(pending, op->getOperands());
  }
  return true;
}

/// Returns whether reading the value from a table is better than computing it for each score: it is a number that does
/// not depend on both query and key, and not index arithmetic.
bool ScoreMover::isTable(Value value, const Axes &axes) const {
  int64_t numLeading = static_cast<int64_t>(shape.size()) - 2;
  auto has = [&](int64_t axis) { return llvm::is_contained(axes, std::optional(axis)); };
  bool isNumber = isa<FloatType>(tensorType(value).getElementType());
  return isNumber && !(has(numLeading) && has(numLeading + 1)) && !isIndexArithmetic(value);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value ScoreMover::move(Value value, const Axes &axes) {
  if (value == match.functionInput)
    return function->getArgument(score::kScore);
  std::vector<int64_t> key;
  for (std::optional<int64_t> axis : axes)
    key.push_back(axis.value_or(-1));
  auto [found, isNew] = moved.try_emplace({value.getAsOpaquePointer(), key});
  if (isNew) {
    ++depth;
    Value copied = depth <= kMostDepth ? copy(value, axes) : Value();
    --depth;
    found->second = copied ? copied : readTable(value, axes);
  }
  return found->second;
}

/// Returns null if the value must be a table.
Value ScoreMover::copy(Value value, const Axes &axes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (Value constant = copyConstant(value))
    return constant;
  if (isa<BroadcastOp, TransposeOp, ReshapeOp>(op)) {
    std::optional<Axes> operandAxes = getOperandAxes<std::optional<int64_t>>(op, axes, std::nullopt);
    return operandAxes ? move(op->getOperand(0), *operandAxes) : Value();
  }
  if (auto iota = dyn_cast<IotaOp>(op))
    return copyIota(iota, axes);
  // Values that depend on scores are never tables, even with one query or one key.
  bool isOfScores = llvm::is_contained(match.chain, op);
  if (!isOfScores && isTable(value, axes))
    return {};
  if (auto embedding = dyn_cast<EmbeddingOp>(op))
    return copyEmbedding(embedding, axes);
  // Activations of other values are computed once, in front of the attention.
  if (isOfScores ? !isScoreOperation(op) : !isa<ScalarOpInterface>(op))
    return {};
  if (isOfScores)
    if (Value masked = copyMask(op, axes))
      return masked;
  return isOfScores ? copyOperation(op, axes) : copyScalar(op, axes);
}

Value ScoreMover::copyConstant(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return {};
  auto type = getScalarType(splat.getElementType());
  if (!isa<FloatType>(splat.getElementType()))
    return ConstantOp::create(inner, loc, type, splat.resizeSplat(type));
  bool losesInfo;
  APFloat number = splat.getSplatValue<APFloat>();
  number.convert(compute.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  if (losesInfo)
    return {};
  return ConstantOp::create(inner, loc, type, cast<ElementsAttr>(DenseElementsAttr::get(type, number)));
}

Value ScoreMover::copyIota(IotaOp op, const Axes &axes) {
  auto type = getScalarType(op.getType());
  std::optional<int64_t> axis = axes[op.getAxis()];
  if (!axis)
    return ConstantOp::create(inner, loc, type, 0.0);
  Value index = getIndex(*axis);
  if (!index)
    return {};
  Value number = convert(index, type.getElementType());
  Type element = tensorType(op).getElementType();
  if (!isa<FloatType>(element) || element == compute || isExact(op, number))
    return number;
  if (element != scoreType)
    return {};
  unrounded.insert(number);
  return number;
}

/// Copies a mask whose visible keys are known as two comparisons of the distance between query and key.
Value ScoreMover::copyMask(Operation *op, const Axes &axes) {
  std::optional<Masking> masking = matchMasking(op);
  int64_t queries = shape[shape.size() - 2], keys = shape.back();
  VisibleKeys visible(queries, keys);
  if (!masking || !visible.hide(*masking))
    return {};
  std::optional<std::pair<int64_t, int64_t>> range = visible.getRange();
  if (!range)
    return {};
  Value score = move(masking->operand, axes);
  auto index = getScalarType(inner.getI32Type());
  Value distance = SubOp::create(inner, loc, function->getArgument(score::kQuery), function->getArgument(score::kKey));
  auto compare = [&](Predicate predicate, int64_t bound) -> Value {
    return CompareOp::create(inner, loc, predicate, distance,
                             ConstantOp::create(inner, loc, index, static_cast<double>(bound)));
  };
  Value isSeen;
  if (range->first > 1 - keys)
    isSeen = compare(Predicate::GE, range->first);
  if (range->second < queries - 1) {
    Value isNear = compare(Predicate::LE, range->second);
    isSeen = isSeen ? AndOp::create(inner, loc, isSeen, isNear).getResult() : isNear;
  }
  if (!isSeen)
    return score;
  auto type = getScalarType(compute);
  Value hidden = ConstantOp::create(inner, loc, type, -std::numeric_limits<double>::infinity());
  return SelectOp::create(inner, loc, isSeen, score, hidden);
}

/// Copies a lookup with computed indices if they are provably in bounds.
Value ScoreMover::copyEmbedding(EmbeddingOp op, const Axes &axes) {
  Value column;
  if (!axes.back())
    column = ConstantOp::create(inner, loc, getScalarType(inner.getI32Type()), 0.0);
  else
    column = getIndex(*axes.back());
  if (!column || (axes.back() && shapeOf(op.getTable()).back() != shape[*axes.back()]))
    return {};
  Axes ofIds(axes.begin(), axes.end() - 1);
  Value row = convert(move(op.getIds(), ofIds), inner.getI32Type());
  int64_t numLeading = static_cast<int64_t>(shape.size()) - 2;
  int64_t bounds[] = {computeProduct(ArrayRef(shape).take_front(numBatchAxes)),
                      computeProduct(ArrayRef(shape).slice(numBatchAxes, numLeading - numBatchAxes)), shape[numLeading],
                      shape[numLeading + 1]};
  auto getArgumentRange = [&](BlockArgument argument) { return getScoreArgumentRange(argument, bounds); };
  IntegerRanges ranges(getArgumentRange);
  if (!isWithin(ranges.get(row), shapeOf(op.getTable()).front()))
    return {};
  return readElement(op.getTable(), {row, column});
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

std::optional<LinearIndex> ScoreMover::inferNumber(Value copied) {
  if (copied == function->getArgument(score::kQuery))
    return LinearIndex{1, 0, 0};
  if (copied == function->getArgument(score::kKey))
    return LinearIndex{0, 1, 0};
  if (std::optional<double> constant = getConstantNumber(copied))
    return LinearIndex{0, 0, *constant};
  Operation *op = copied.getDefiningOp();
  return op ? inferLinearIndex(op, [&](Value operand) { return getNumber(operand); }) : std::nullopt;
}

std::optional<LinearIndex> ScoreMover::getNumber(Value copied) {
  auto known = numbers.find(copied);
  if (known != numbers.end())
    return known->second;
  std::optional<LinearIndex> number = inferNumber(copied);
  if (number && !number->isExact(shape[shape.size() - 2], shape.back(), tensorType(copied).getElementType()))
    number.reset();
  numbers[copied] = number;
  return number;
}

bool ScoreMover::isExact(Value value, Value copied) {
  std::optional<LinearIndex> number = getNumber(copied);
  return number && number->isExact(shape[shape.size() - 2], shape.back(), tensorType(value).getElementType());
}

/// Returns whether the element type of a value has numbers that `type` lacks.
static bool isWider(Value value, Type type) {
  auto element = dyn_cast<FloatType>(tensorType(value).getElementType());
  return element && element.getFPMantissaWidth() > cast<FloatType>(type).getFPMantissaWidth();
}

/// Returns whether the result is an operand or its negative, for operands of every type.
static bool isNeverRounded(Operation *op) { return isa<SelectOp, MinOp, MaxOp, NegOp>(op); }

/// Copies an operation on values that do not depend on scores. As for scores, the program's roundings to the type of
/// scores may be left out in sums that are added to a score. Other results that depend on a rounding are tables:
/// comparisons, whose results would differ by more than a rounding, and numbers of other types.
Value ScoreMover::copyScalar(Operation *op, const Axes &axes) {
  for (Value operand : op->getOperands())
    if (isWider(operand, compute) && !isExact(operand, move(operand, axes)))
      return {};
  Value result = op->getResult(0), copied = copyOperation(op, axes);
  if (!copied)
    return {};
  Type type = tensorType(result).getElementType();
  bool isRounded = isa<FloatType>(type) && type != compute && (!isNeverRounded(op) || isWider(result, compute)) &&
                   !isExact(result, copied);
  for (Value operand : op->getOperands())
    isRounded |= unrounded.contains(move(operand, axes));
  if (!isRounded)
    return copied;
  if (type != scoreType)
    return {};
  unrounded.insert(copied);
  return copied;
}

/// Copies an element-wise operation, or the formula of an activation. Numbers are computed in the type of scores.
Value ScoreMover::copyOperation(Operation *op, const Axes &axes) {
  Type result = tensorType(op->getResult(0)).getElementType();
  if (auto cast = dyn_cast<CastOp>(op)) {
    Type from = tensorType(cast.getOperand()).getElementType();
    bool isOfNumbers = isa<FloatType>(from) && isa<FloatType>(result);
    // A cast that rounds is part of the program, so it is not dropped.
    if (isOfNumbers && from.getIntOrFloatBitWidth() >= result.getIntOrFloatBitWidth())
      return {};
    if (isOfNumbers)
      return move(cast.getOperand(), axes);
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, move(operand, axes));
  Operation *copy = inner.clone(*op, mapping);
  copy->setLoc(op->getLoc());
  copy->getResult(0).setType(getScalarType(result));
  auto activation = dyn_cast<DecomposableOpInterface>(copy);
  if (!activation)
    return copy->getResult(0);
  FailureOr<SmallVector<Value>> formula = activation.decompose(inner);
  assert(succeeded(formula) && "activations have formulas for all types");
  copy->erase();
  return formula->front();
}
