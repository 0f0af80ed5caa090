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

#include "OperandAxes.h"
#include "cs336/Dialect/CS336/IR/LinearIndex.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace cs336;

namespace {
/// The role of an axis of a tensor in the scores: query index, key index, or neither.
enum class Axis { Other, Query, Key };
using Axes = SmallVector<Axis>;

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
  /// Masks in real models have far fewer uses of values.
  static constexpr unsigned kMostUses = 256;

  /// Counts a use of a value. Returns false if the limit is exceeded.
  bool countUse() { return ++numUses <= kMostUses; }
  std::optional<LinearIndex> readNumber(Value value, const Axes &axes);
  std::optional<BitVector> compare(Predicate predicate, const LinearIndex &difference) const;
  template <typename Element>
  std::optional<BitVector> readTable(DenseElementsAttr table, const Axes &axes,
                                     function_ref<std::optional<bool>(Element)> isVisible) const;

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
// Numbers
//===----------------------------------------------------------------------===//

std::optional<LinearIndex> MaskReader::readNumber(Value value, const Axes &axes) {
  if (!countUse())
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  Type element = getElementTypeOrSelf(value.getType());
  std::optional<LinearIndex> number;
  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    int64_t axis = iota.getAxis();
    number.emplace();
    if (shapeOf(value)[axis] != 1) {
      if (axes[axis] == Axis::Other)
        return std::nullopt;
      (axes[axis] == Axis::Query ? number->query : number->key) = 1;
    }
  } else if (std::optional<double> constant = getConstantNumber(value)) {
    number = LinearIndex{0, 0, *constant};
  } else if (isa_and_present<BroadcastOp, TransposeOp, ReshapeOp>(op)) {
    std::optional<Axes> operandAxes = getOperandAxes<Axis>(op, axes, Axis::Other);
    return operandAxes ? readNumber(op->getOperand(0), *operandAxes) : std::nullopt;
  } else if (isa_and_present<CastOp>(op)) {
    number = readNumber(op->getOperand(0), axes);
  } else if (isa_and_present<AddOp, SubOp>(op)) {
    std::optional<LinearIndex> lhs = readNumber(op->getOperand(0), axes), rhs = readNumber(op->getOperand(1), axes);
    if (!lhs || !rhs)
      return std::nullopt;
    number = isa<AddOp>(op) ? *lhs + *rhs : *lhs - *rhs;
  }
  return number && number->isExact(queries, keys, element) ? number : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

std::optional<BitVector> MaskReader::compare(Predicate predicate, const LinearIndex &difference) const {
  std::optional<LinearDistance> number = difference.getLinearDistance(queries, keys);
  if (!number)
    return std::nullopt;
  BitVector bits = uniform(false);
  for (unsigned bit = 0; bit < bits.size(); ++bit) {
    double distance = static_cast<double>(bit) - static_cast<double>(keys - 1);
    if (holds(predicate, number->factor * distance + number->constant))
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
    std::optional<Axes> operandAxes = getOperandAxes<Axis>(op, axes, Axis::Other);
    return operandAxes ? readPredicate(op->getOperand(0), *operandAxes) : std::nullopt;
  }
  if (auto comparison = dyn_cast_or_null<CompareOp>(op)) {
    std::optional<LinearIndex> lhs = readNumber(comparison.getLhs(), axes), rhs = readNumber(comparison.getRhs(), axes);
    if (!lhs || !rhs)
      return std::nullopt;
    return compare(comparison.getPredicate(), *lhs - *rhs);
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
    std::optional<Axes> operandAxes = getOperandAxes<Axis>(op, axes, Axis::Other);
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
