//===- ScoreDistances.cpp - Which pairs a score function can show ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the compared numbers as linear functions of query i and key j. A comparison that depends on d = i − j alone
// changes its result at one or two distances, and so does the choice of a minimum or maximum between its operands. The
// distances are divided at these places, until in each segment every comparison has one result and every minimum and
// maximum is one of its operands, so that it is a linear function too. The function is evaluated once per segment, in
// three-valued logic: results that depend on data are unknown.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/ScoreDistances.h"

#include "cs336/Dialect/CS336/IR/LinearIndex.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace cs336;

/// Returns the number of pairs with i − j ≤ `distance`.
static int64_t countUpTo(int64_t distance, int64_t queries, int64_t keys) {
  // Queries before `begin` see all keys; those from `end` on see none.
  int64_t begin = std::clamp<int64_t>(distance + 1, 0, queries), end = std::clamp(distance + keys, begin, queries);
  int64_t partial = (end - begin) * (keys + distance) - (begin + end - 1) * (end - begin) / 2;
  return begin * keys + partial;
}

int64_t DistanceRange::countPairs(int64_t queries, int64_t keys) const {
  return last < first ? 0 : countUpTo(last, queries, keys) - countUpTo(first - 1, queries, keys);
}

namespace {
using Truth = std::optional<bool>;

/// Computes each value of the function from its operands, in the order of the operations, because a value can have many
/// uses.
class Evaluator {
public:
  Evaluator(Block *function, bool isCausal, int64_t queries, int64_t keys)
      : function(function), isCausal(isCausal), queries(queries), keys(keys) {}

  ScoreDistances run();

private:
  using Choices = llvm::MapVector<Operation *, bool>;

  /// Distances at which all comparisons, minima and maxima of distances choose the same.
  struct Segment {
    DistanceRange range;
    Choices choices;
    bool isVisible;
  };

  SmallVector<Segment> buildSegments();

  /// Computes the values at all distances of a range. Returns false if a choice changes within the range, and adds the
  /// distances at which it does to `begins`.
  bool evaluate(const DistanceRange &range, SmallVectorImpl<int64_t> &begins);
  bool choose(Operation &op, const DistanceRange &range, SmallVectorImpl<int64_t> &begins);

  // Return results for the distances of the last evaluation.
  std::optional<LinearIndex> getNumber(Value value) const;
  std::optional<LinearIndex> inferNumber(Operation *op) const;
  Truth getTruth(Value value) const;
  Truth inferTruth(Operation *op) const;
  bool isHidden(Value value) const;
  bool inferHidden(Operation *op) const;

  /// Returns whether the function yields the scaled score or −∞, for any data.
  bool onlyHides() const;
  /// Returns whether the function yields −∞ or the scaled score plus other terms, for any data.
  bool onlyShifts() const;
  Value getResult() const { return function->getTerminator()->getOperand(0); }

  Block *function;
  bool isCausal;
  int64_t queries, keys;
  DenseMap<Value, LinearIndex> numbers;
  Choices choices;
  DenseMap<Value, bool> truths; // Results that do not depend on data.
  DenseSet<Value> hidden;
};
} // namespace

static bool isMinusInfinity(Value value) {
  return getConstantNumber(value) == -std::numeric_limits<double>::infinity();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::optional<LinearIndex> Evaluator::getNumber(Value value) const {
  if (value == function->getArgument(score::kQuery))
    return LinearIndex{1, 0, 0};
  if (value == function->getArgument(score::kKey))
    return LinearIndex{0, 1, 0};
  if (std::optional<double> constant = getConstantNumber(value); constant && std::isfinite(*constant))
    return LinearIndex{0, 0, *constant};
  auto found = numbers.find(value);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinearIndex> Evaluator::inferNumber(Operation *op) const {
  if (auto choice = choices.find(op); choice != choices.end() && !isa<CompareOp>(op))
    return getNumber(op->getOperand(choice->second ? 0 : 1));
  return inferLinearIndex(op, [&](Value operand) { return getNumber(operand); });
}

//===----------------------------------------------------------------------===//
// Values of a segment
//===----------------------------------------------------------------------===//

Truth Evaluator::getTruth(Value value) const {
  if (std::optional<double> constant = getConstantNumber(value))
    return *constant != 0;
  auto found = truths.find(value);
  return found == truths.end() ? Truth() : Truth(found->second);
}

Truth Evaluator::inferTruth(Operation *op) const {
  return llvm::TypeSwitch<Operation *, Truth>(op)
      .Case([&](NotOp op) {
        Truth operand = getTruth(op.getOperand());
        return operand ? Truth(!*operand) : Truth();
      })
      .Case([&](AndOp op) {
        Truth lhs = getTruth(op.getLhs()), rhs = getTruth(op.getRhs());
        if (lhs == Truth(false) || rhs == Truth(false))
          return Truth(false);
        return lhs && rhs ? Truth(true) : Truth();
      })
      .Case([&](OrOp op) {
        Truth lhs = getTruth(op.getLhs()), rhs = getTruth(op.getRhs());
        if (lhs == Truth(true) || rhs == Truth(true))
          return Truth(true);
        return lhs && rhs ? Truth(false) : Truth();
      })
      .Case([&](SelectOp op) {
        Truth chosen = getTruth(op.getPredicate());
        Truth lhs = getTruth(op.getTrueValue()), rhs = getTruth(op.getFalseValue());
        if (chosen)
          return *chosen ? lhs : rhs;
        return lhs == rhs ? lhs : Truth();
      })
      .Default([](Operation *) { return Truth(); });
}

/// Returns whether the value is −∞, for any data for which it is not NaN.
bool Evaluator::isHidden(Value value) const { return isMinusInfinity(value) || hidden.contains(value); }

bool Evaluator::inferHidden(Operation *op) const {
  auto isPositive = [](Value factor) {
    std::optional<double> constant = getConstantNumber(factor);
    return constant && *constant > 0 && std::isfinite(*constant);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](SelectOp op) {
        Truth chosen = getTruth(op.getPredicate());
        if (chosen)
          return isHidden(*chosen ? op.getTrueValue() : op.getFalseValue());
        return isHidden(op.getTrueValue()) && isHidden(op.getFalseValue());
      })
      .Case([&](AddOp op) { return isHidden(op.getLhs()) || isHidden(op.getRhs()); })
      .Case([&](SubOp op) { return isHidden(op.getLhs()); })
      .Case([&](MulOp op) {
        return (isHidden(op.getLhs()) && isPositive(op.getRhs())) || (isPositive(op.getLhs()) && isHidden(op.getRhs()));
      })
      .Case([&](DivOp op) { return isHidden(op.getLhs()) && isPositive(op.getRhs()); })
      .Default([](Operation *) { return false; });
}

/// Returns the sign of the difference for which a minimum or maximum is its first operand, or nullopt for other
/// operations. With equal operands both are right.
static std::optional<Predicate> getFirstOperandPredicate(Operation &op) {
  if (isa<MinOp>(op))
    return Predicate::LE;
  return isa<MaxOp>(op) ? std::optional(Predicate::GE) : std::nullopt;
}

/// Records the choice of a comparison, minimum or maximum of distances.
bool Evaluator::choose(Operation &op, const DistanceRange &range, SmallVectorImpl<int64_t> &begins) {
  auto comparison = dyn_cast<CompareOp>(op);
  std::optional<Predicate> predicate = comparison ? comparison.getPredicate() : getFirstOperandPredicate(op);
  if (!predicate)
    return true;
  std::optional<LinearIndex> lhs = getNumber(op.getOperand(0)), rhs = getNumber(op.getOperand(1));
  std::optional<LinearDistance> number;
  if (lhs && rhs)
    number = (*lhs - *rhs).getLinearDistance(queries, keys);
  if (!number)
    return true;
  size_t before = begins.size();
  bool first = holds(*predicate, number->at(range.first));
  if (number->factor != 0) {
    double zero = -number->constant / number->factor;
    for (double begin : {std::ceil(zero), std::floor(zero) + 1})
      if (begin > static_cast<double>(range.first) && begin <= static_cast<double>(range.last) &&
          holds(*predicate, number->at(begin)) != holds(*predicate, number->at(begin - 1)))
        begins.push_back(static_cast<int64_t>(begin));
  }
  choices[&op] = first;
  return begins.size() == before;
}

bool Evaluator::evaluate(const DistanceRange &range, SmallVectorImpl<int64_t> &begins) {
  numbers.clear();
  choices.clear();
  truths.clear();
  hidden.clear();
  for (Operation &op : function->without_terminator()) {
    if (!choose(op, range, begins))
      return false;
    Value result = op.getResult(0);
    if (std::optional<LinearIndex> number = inferNumber(&op);
        number && number->isExact(queries, keys, tensorType(result).getElementType()))
      numbers[result] = *number;
    auto *choice = choices.find(&op);
    if (choice != choices.end() && isa<CompareOp>(op))
      truths[result] = choice->second;
    else if (Truth truth = inferTruth(&op))
      truths[result] = *truth;
    if (inferHidden(&op))
      hidden.insert(result);
  }
  return true;
}

bool Evaluator::onlyHides() const {
  Value value = getResult();
  while (auto select = value.getDefiningOp<SelectOp>()) {
    if (isMinusInfinity(select.getFalseValue()))
      value = select.getTrueValue();
    else if (isMinusInfinity(select.getTrueValue()))
      value = select.getFalseValue();
    else
      return false;
  }
  return value == function->getArgument(score::kScore);
}

bool Evaluator::onlyShifts() const {
  Value score = function->getArgument(score::kScore);
  // Values that depend on the score, and those of them that are shifted scores or −∞.
  DenseSet<Value> dependent = {score}, shifted = {score};
  auto isShifted = [&](Value value) { return shifted.contains(value) || isMinusInfinity(value); };
  for (Operation &op : function->without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return dependent.contains(operand); }))
      continue;
    dependent.insert(op.getResult(0));
    bool isShift =
        llvm::TypeSwitch<Operation *, bool>(&op)
            .Case([&](SelectOp op) {
              return !dependent.contains(op.getPredicate()) && isShifted(op.getTrueValue()) &&
                     isShifted(op.getFalseValue());
            })
            .Case([&](AddOp op) {
              Value lhs = op.getLhs(), rhs = op.getRhs();
              return (isShifted(lhs) && !dependent.contains(rhs)) || (isShifted(rhs) && !dependent.contains(lhs));
            })
            .Case([&](SubOp op) { return isShifted(op.getLhs()) && !dependent.contains(op.getRhs()); })
            .Default([](Operation *) { return false; });
    if (isShift)
      shifted.insert(op.getResult(0));
  }
  return isShifted(getResult());
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

SmallVector<Evaluator::Segment> Evaluator::buildSegments() {
  DistanceRange all{isCausal ? 0 : 1 - keys, queries - 1};
  if (!function)
    return {{all, {}, true}};
  SmallVector<Segment> segments;
  // The ranges that remain, the next one last.
  SmallVector<DistanceRange> rest = {all};
  while (!rest.empty()) {
    // Nested minima can have a number of segments that is exponential in their depth.
    constexpr size_t kMostSegments = 256;
    if (segments.size() + rest.size() > kMostSegments)
      return {{all, {}, true}};
    DistanceRange range = rest.pop_back_val();
    SmallVector<int64_t> begins;
    if (!evaluate(range, begins)) {
      llvm::sort(begins, std::greater<>());
      for (int64_t begin : begins) {
        rest.push_back({begin, range.last});
        range.last = begin - 1;
      }
      rest.push_back(range);
      continue;
    }
    Segment segment{range, choices, !isHidden(getResult())};
    bool continues = !segments.empty() && llvm::equal(segments.back().choices, segment.choices);
    if (continues)
      segments.back().range.last = range.last;
    else
      segments.push_back(std::move(segment));
  }
  return segments;
}

ScoreDistances Evaluator::run() {
  SmallVector<Segment> segments = buildSegments();
  const Segment *largest = nullptr;
  std::optional<DistanceRange> visible;
  for (const Segment &segment : segments) {
    if (!segment.isVisible)
      continue;
    visible = visible ? DistanceRange{visible->first, segment.range.last} : segment.range;
    if (!largest || segment.range.countPairs(queries, keys) > largest->range.countPairs(queries, keys))
      largest = &segment;
  }
  // If no distance is visible, one distance remains, whose scores the function hides.
  if (!visible)
    visible = {segments.front().range.first, segments.front().range.first};
  ScoreDistances distances{*visible, largest ? largest->range : *visible, DenseMap<Operation *, bool>(),
                           !function || onlyHides(), !function || onlyShifts()};
  if (largest)
    for (auto [op, choice] : largest->choices)
      distances.interiorChoices[op] = choice;
  return distances;
}

template <typename Op>
static ScoreDistances analyzeDistances(Op op) {
  auto sizes = op.getSizes();
  Block *function = op.hasScoreFunction() ? &op.getScoreFunction() : nullptr;
  return Evaluator(function, op.getCausal(), sizes.queries, sizes.keys).run();
}

ScoreDistances ScoreDistances::analyze(AttentionOp op) { return analyzeDistances(op); }
ScoreDistances ScoreDistances::analyze(AttentionBackwardOp op) { return analyzeDistances(op); }
