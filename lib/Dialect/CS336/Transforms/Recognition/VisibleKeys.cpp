//===- VisibleKeys.cpp - Which keys an attention mask shows ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves which keys a mask shows, instead of matching patterns: it computes the compared numbers as linear functions of
// the indices, and the predicate for every difference of query and key index that occurs.
//
//===----------------------------------------------------------------------===//

#include "VisibleKeys.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace cs336;

namespace {
/// The role of an axis of a tensor in the scores: query index, key index, or neither.
enum class Axis { Other, Query, Key };
using Axes = SmallVector<Axis>;

/// query·i + key·j + constant.
struct Linear {
  double query = 0, key = 0, constant = 0;
};

/// Evaluates a mask from the operations that compute it. It follows each use of a value, and a mask of n operations can
/// have 3^n uses, so it stops after a fixed number.
class MaskReader {
public:
  MaskReader(int64_t queries, int64_t keys) : queries(queries), keys(keys) {}

  /// Returns one bit per difference i − j, if the predicate depends on the difference alone.
  std::optional<BitVector> readPredicate(Value value, const Axes &axes);
  /// Returns one bit per difference, set where the number is 0, if the number is −∞ elsewhere.
  std::optional<BitVector> readBias(Value value, const Axes &axes);
  /// Returns the axes of a tensor that masks the scores.
  static Axes getAxes(Value mask);

private:
  /// Far more than masks in real models have.
  static constexpr unsigned kMostUses = 256;

  /// Counts a use of a value. Returns false if the limit is exceeded.
  bool countUse() { return ++numUses <= kMostUses; }
  std::optional<Linear> readNumber(Value value, const Axes &axes);
  std::optional<Axes> getOperandAxes(Operation *view, const Axes &axes) const;
  std::optional<BitVector> compare(Predicate predicate, Linear difference) const;
  template <typename Element>
  std::optional<BitVector> readTable(DenseElementsAttr table, const Axes &axes,
                                     function_ref<std::optional<bool>(Element)> isVisible) const;
  bool isExact(const Linear &number, Type element) const;

  BitVector uniform(bool value) const { return BitVector(queries + keys - 1, value); }

  int64_t queries, keys;
  unsigned numUses = 0;
};
} // namespace

Axes MaskReader::getAxes(Value mask) {
  Axes axes(shapeOf(mask).size(), Axis::Other);
  if (!axes.empty())
    axes.back() = Axis::Key;
  if (axes.size() > 1)
    axes[axes.size() - 2] = Axis::Query;
  return axes;
}

//===----------------------------------------------------------------------===//
// Layout operations
//===----------------------------------------------------------------------===//

/// Returns the axes of a layout operation's operand.
std::optional<Axes> MaskReader::getOperandAxes(Operation *view, const Axes &axes) const {
  Axes result;
  if (auto broadcast = dyn_cast<BroadcastOp>(view)) {
    for (int64_t axis : broadcast.getDims())
      result.push_back(axes[axis]);
    return result;
  }
  if (auto transpose = dyn_cast<TransposeOp>(view)) {
    result.resize(axes.size());
    for (auto [axis, source] : llvm::enumerate(transpose.getPerm()))
      result[source] = axes[axis];
    return result;
  }
  // A reshape that adds and drops axes of size 1: along these the index is always 0.
  auto reshape = dyn_cast<ReshapeOp>(view);
  if (!reshape)
    return std::nullopt;
  SmallVector<std::pair<int64_t, Axis>> longAxes;
  for (auto [size, axis] : llvm::zip_equal(shapeOf(reshape.getResult()), axes))
    if (size != 1)
      longAxes.push_back({size, axis});
  auto next = longAxes.begin();
  for (int64_t size : shapeOf(reshape.getOperand())) {
    if (size != 1 && (next == longAxes.end() || next->first != size))
      return std::nullopt;
    result.push_back(size == 1 ? Axis::Other : (next++)->second);
  }
  return next == longAxes.end() ? std::optional(result) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Returns whether arithmetic in `element` gives all values of the number without rounding and wrapping around.
bool MaskReader::isExact(const Linear &number, Type element) const {
  double largest = std::abs(number.constant) + std::abs(number.query) * queries + std::abs(number.key) * keys;
  if (element.isF32())
    return largest <= 0x1p24;
  if (element.isF64())
    return largest <= 0x1p53;
  return element.isInteger(32) || element.isInteger(64) ? largest < 0x1p31 : false;
}

std::optional<Linear> MaskReader::readNumber(Value value, const Axes &axes) {
  if (!countUse())
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  Type element = getElementTypeOrSelf(value.getType());
  std::optional<Linear> number;
  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    int64_t axis = iota.getAxis();
    number.emplace();
    if (shapeOf(value)[axis] != 1) {
      if (axes[axis] == Axis::Other)
        return std::nullopt;
      (axes[axis] == Axis::Query ? number->query : number->key) = 1;
    }
  } else if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat))) {
    number.emplace();
    number->constant = isa<FloatType>(element) ? splat.getSplatValue<APFloat>().convertToDouble()
                                               : static_cast<double>(splat.getSplatValue<APInt>().getSExtValue());
    // A sum of halves would be exact too, but masks do not use it.
    if (number->constant != std::floor(number->constant))
      return std::nullopt;
  } else if (isa_and_present<BroadcastOp, TransposeOp, ReshapeOp>(op)) {
    std::optional<Axes> operandAxes = getOperandAxes(op, axes);
    return operandAxes ? readNumber(op->getOperand(0), *operandAxes) : std::nullopt;
  } else if (isa_and_present<CastOp>(op)) {
    number = readNumber(op->getOperand(0), axes);
  } else if (isa_and_present<AddOp, SubOp>(op)) {
    std::optional<Linear> lhs = readNumber(op->getOperand(0), axes), rhs = readNumber(op->getOperand(1), axes);
    if (!lhs || !rhs)
      return std::nullopt;
    double sign = isa<AddOp>(op) ? 1 : -1;
    number = Linear{lhs->query + sign * rhs->query, lhs->key + sign * rhs->key, lhs->constant + sign * rhs->constant};
  }
  return number && isExact(*number, element) ? number : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

static bool holds(Predicate predicate, double difference) {
  switch (predicate) {
  case Predicate::EQ:
    return difference == 0;
  case Predicate::NE:
    return difference != 0;
  case Predicate::LT:
    return difference < 0;
  case Predicate::LE:
    return difference <= 0;
  case Predicate::GT:
    return difference > 0;
  case Predicate::GE:
    return difference >= 0;
  }
  llvm_unreachable("every predicate has a case");
}

std::optional<BitVector> MaskReader::compare(Predicate predicate, Linear difference) const {
  // With one query or one key, its index is 0.
  if (queries == 1)
    difference.query = -difference.key;
  if (keys == 1)
    difference.key = -difference.query;
  if (difference.query != -difference.key)
    return std::nullopt;
  BitVector bits = uniform(false);
  for (unsigned bit = 0; bit < bits.size(); ++bit) {
    double distance = static_cast<double>(bit) - static_cast<double>(keys - 1);
    if (holds(predicate, difference.query * distance + difference.constant))
      bits.set(bit);
  }
  return bits;
}

/// Reads a table whose elements depend on i − j alone. `isVisible` returns nullopt for an element that does not occur
/// in masks.
template <typename Element>
std::optional<BitVector> MaskReader::readTable(DenseElementsAttr table, const Axes &axes,
                                               function_ref<std::optional<bool>(Element)> isVisible) const {
  BitVector bits = uniform(false), isKnown = uniform(false);
  ArrayRef<int64_t> shape = table.getType().getShape();
  SmallVector<int64_t> position(shape.size(), 0);
  bool hasQueries = queries == 1, hasKeys = keys == 1;
  for (Axis axis : axes) {
    hasQueries |= axis == Axis::Query;
    hasKeys |= axis == Axis::Key;
  }
  // A table with one index has the same value for all values of the other index.
  if (!table.isSplat() && (!hasQueries || !hasKeys))
    return std::nullopt;
  if (table.isSplat()) {
    std::optional<bool> value = isVisible(table.getSplatValue<Element>());
    return value ? std::optional(uniform(*value)) : std::nullopt;
  }
  for (Element element : table.getValues<Element>()) {
    int64_t bit = keys - 1;
    for (auto [axis, index] : llvm::zip_equal(axes, position))
      bit += axis == Axis::Query ? index : axis == Axis::Key ? -index : 0;
    std::optional<bool> value = isVisible(element);
    if (!value || (isKnown.test(bit) && bits.test(bit) != *value))
      return std::nullopt;
    isKnown.set(bit);
    if (*value)
      bits.set(bit);
    for (int64_t axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0 && ++position[axis] == shape[axis]; --axis)
      position[axis] = 0;
  }
  return bits;
}

std::optional<BitVector> MaskReader::readPredicate(Value value, const Axes &axes) {
  if (!countUse())
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (DenseElementsAttr table; matchPattern(value, m_Constant(&table)))
    return readTable<bool>(table, axes, [](bool element) { return std::optional(element); });
  if (isa_and_present<BroadcastOp, TransposeOp, ReshapeOp>(op)) {
    std::optional<Axes> operandAxes = getOperandAxes(op, axes);
    return operandAxes ? readPredicate(op->getOperand(0), *operandAxes) : std::nullopt;
  }
  if (auto comparison = dyn_cast_or_null<CompareOp>(op)) {
    std::optional<Linear> lhs = readNumber(comparison.getLhs(), axes), rhs = readNumber(comparison.getRhs(), axes);
    if (!lhs || !rhs)
      return std::nullopt;
    return compare(comparison.getPredicate(),
                   {lhs->query - rhs->query, lhs->key - rhs->key, lhs->constant - rhs->constant});
  }
  if (auto negation = dyn_cast_or_null<NotOp>(op)) {
    std::optional<BitVector> bits = readPredicate(negation.getOperand(), axes);
    return bits ? std::optional(bits->flip()) : std::nullopt;
  }
  if (isa_and_present<AndOp, OrOp>(op)) {
    std::optional<BitVector> lhs = readPredicate(op->getOperand(0), axes), rhs = readPredicate(op->getOperand(1), axes);
    if (!lhs || !rhs)
      return std::nullopt;
    return isa<AndOp>(op) ? *lhs &= *rhs : *lhs |= *rhs;
  }
  if (auto select = dyn_cast_or_null<SelectOp>(op)) {
    std::optional<BitVector> chosen = readPredicate(select.getPredicate(), axes);
    std::optional<BitVector> lhs = readPredicate(select.getTrueValue(), axes);
    std::optional<BitVector> rhs = readPredicate(select.getFalseValue(), axes);
    if (!chosen || !lhs || !rhs)
      return std::nullopt;
    *lhs &= *chosen;
    *rhs &= chosen->flip();
    return *lhs |= *rhs;
  }
  return std::nullopt;
}

/// Returns whether a number that is added to a score keeps the score visible, or nullopt if it neither keeps nor hides
/// it.
static std::optional<bool> isBiasVisible(double number) {
  if (number == 0)
    return true;
  return number == -std::numeric_limits<double>::infinity() ? std::optional(false) : std::nullopt;
}

std::optional<BitVector> MaskReader::readBias(Value value, const Axes &axes) {
  if (!countUse())
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (DenseElementsAttr table; matchPattern(value, m_Constant(&table)))
    return readTable<APFloat>(table, axes,
                              [](const APFloat &element) { return isBiasVisible(element.convertToDouble()); });
  if (isa_and_present<BroadcastOp, TransposeOp, ReshapeOp>(op)) {
    std::optional<Axes> operandAxes = getOperandAxes(op, axes);
    return operandAxes ? readBias(op->getOperand(0), *operandAxes) : std::nullopt;
  }
  auto select = dyn_cast_or_null<SelectOp>(op);
  if (!select)
    return std::nullopt;
  std::optional<double> onTrue = getSplatNumber(select.getTrueValue()),
                        onFalse = getSplatNumber(select.getFalseValue());
  std::optional<BitVector> bits = readPredicate(select.getPredicate(), axes);
  if (!onTrue || !onFalse || !bits || !isBiasVisible(*onTrue) || !isBiasVisible(*onFalse))
    return std::nullopt;
  if (isBiasVisible(*onTrue) == isBiasVisible(*onFalse))
    return uniform(*isBiasVisible(*onTrue));
  return *isBiasVisible(*onTrue) ? *bits : bits->flip();
}

//===----------------------------------------------------------------------===//
// Visible keys
//===----------------------------------------------------------------------===//

bool VisibleKeys::areCausal() const {
  for (unsigned bit = 0; bit < bits.size(); ++bit)
    if (bits.test(bit) != (static_cast<int64_t>(bit) >= keys - 1))
      return false;
  return true;
}

std::optional<std::pair<int64_t, int64_t>> VisibleKeys::getRange() const {
  int first = bits.find_first(), last = bits.find_last();
  if (first < 0 || bits.find_first_unset_in(first, last + 1) >= 0)
    return std::nullopt;
  return std::pair(first - (keys - 1), last - (keys - 1));
}

bool VisibleKeys::hide(const Masking &masking) {
  MaskReader reader(bits.size() - keys + 1, keys);
  Axes axes = MaskReader::getAxes(masking.selector);
  bool isPredicate = getElementTypeOrSelf(masking.selector.getType()).isInteger(1);
  std::optional<BitVector> read =
      isPredicate ? reader.readPredicate(masking.selector, axes) : reader.readBias(masking.selector, axes);
  if (!read)
    return false;
  bits &= masking.hidesTrue ? read->flip() : *read;
  return true;
}
