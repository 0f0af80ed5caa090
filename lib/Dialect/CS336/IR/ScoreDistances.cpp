//===- ScoreDistances.cpp - Which pairs a score function can show ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the compared numbers as linear functions of query i and key j. A comparison that depends on d = i − j alone
// changes its result at one or two distances, so the distances fall into a few segments in each of which every such
// comparison has one result. The function is evaluated once per segment, in three-valued logic: what depends on data is
// unknown.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/ScoreDistances.h"

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
/// query·i + key·j + constant.
struct Linear {
  double query = 0, key = 0, constant = 0;
};

/// factor·d + constant.
struct OfDistance {
  double factor, constant;
};

using Truth = std::optional<bool>;

class Evaluator {
public:
  Evaluator(Block *function, bool isCausal, int64_t queries, int64_t keys)
      : function(function), isCausal(isCausal), queries(queries), keys(keys) {}

  ScoreDistances run();

private:
  /// Distances at which all comparisons of distances have the same results.
  struct Segment {
    DistanceRange range;
    SmallVector<bool> results;
    bool isVisible;
  };

  std::optional<Linear> readNumber(Value value);
  std::optional<Linear> inferNumber(Value value);
  bool isExact(const Linear &number, Type element) const;
  std::optional<OfDistance> readComparison(CompareOp op);
  SmallVector<Segment> buildSegments();

  // At the current distance.
  Truth readTruth(Value value);
  bool isHidden(Value value);
  /// Returns whether the value is the scaled score or −∞, for any data.
  bool onlyHides(Value value) const;

  Block *function;
  bool isCausal;
  int64_t queries, keys;
  DenseMap<Value, std::optional<Linear>> numbers;
  llvm::MapVector<Operation *, OfDistance> comparisons;
  DenseMap<Operation *, bool> results;
};
} // namespace

static std::optional<double> getConstant(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(splat.getSplatValue<APInt>().getSExtValue());
}

static bool isMinusInfinity(Value value) { return getConstant(value) == -std::numeric_limits<double>::infinity(); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Returns whether arithmetic in `element` gives all values of the number without rounding and wrapping around.
bool Evaluator::isExact(const Linear &number, Type element) const {
  double largest = std::abs(number.constant) + std::abs(number.query) * static_cast<double>(queries) +
                   std::abs(number.key) * static_cast<double>(keys);
  if (number.constant != std::floor(number.constant) || number.query != std::floor(number.query) ||
      number.key != std::floor(number.key))
    return false;
  if (element.isF32())
    return largest <= 0x1p24;
  if (element.isF64())
    return largest <= 0x1p53;
  return (element.isInteger(32) || element.isInteger(64)) && largest < 0x1p31;
}

std::optional<Linear> Evaluator::readNumber(Value value) {
  auto [found, isNew] = numbers.try_emplace(value);
  if (!isNew)
    return found->second;
  std::optional<Linear> number = inferNumber(value);
  if (number && !isExact(*number, tensorType(value).getElementType()))
    number.reset();
  numbers[value] = number;
  return number;
}

std::optional<Linear> Evaluator::inferNumber(Value value) {
  if (value == function->getArgument(score::kQuery))
    return Linear{1, 0, 0};
  if (value == function->getArgument(score::kKey))
    return Linear{0, 1, 0};
  if (std::optional<double> constant = getConstant(value); constant && std::isfinite(*constant))
    return Linear{0, 0, *constant};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<CastOp>(op))
    return tensorType(op->getOperand(0)).getElementType().isInteger(1) ? std::nullopt : readNumber(op->getOperand(0));
  if (isa<NegOp>(op)) {
    std::optional<Linear> x = readNumber(op->getOperand(0));
    return x ? std::optional(Linear{-x->query, -x->key, -x->constant}) : std::nullopt;
  }
  if (!isa<AddOp, SubOp, MulOp>(op))
    return std::nullopt;
  std::optional<Linear> lhs = readNumber(op->getOperand(0)), rhs = readNumber(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<MulOp>(op)) {
    if (lhs->query != 0 || lhs->key != 0)
      std::swap(lhs, rhs);
    bool isLinear = lhs->query == 0 && lhs->key == 0;
    double factor = lhs->constant;
    return isLinear ? std::optional(Linear{factor * rhs->query, factor * rhs->key, factor * rhs->constant})
                    : std::nullopt;
  }
  double sign = isa<AddOp>(op) ? 1 : -1;
  return Linear{lhs->query + sign * rhs->query, lhs->key + sign * rhs->key, lhs->constant + sign * rhs->constant};
}

std::optional<OfDistance> Evaluator::readComparison(CompareOp op) {
  std::optional<Linear> lhs = readNumber(op.getLhs()), rhs = readNumber(op.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  Linear difference{lhs->query - rhs->query, lhs->key - rhs->key, lhs->constant - rhs->constant};
  // With one query or one key, its index is 0.
  if (queries == 1)
    difference.query = -difference.key;
  if (keys == 1)
    difference.key = -difference.query;
  if (difference.query != -difference.key)
    return std::nullopt;
  return OfDistance{difference.query, difference.constant};
}

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

//===----------------------------------------------------------------------===//
// Values at one distance
//===----------------------------------------------------------------------===//

Truth Evaluator::readTruth(Value value) {
  if (std::optional<double> constant = getConstant(value))
    return *constant != 0;
  if (!value.getDefiningOp())
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Truth>(value.getDefiningOp())
      .Case([&](CompareOp op) {
        auto found = results.find(op);
        return found == results.end() ? Truth() : Truth(found->second);
      })
      .Case([&](NotOp op) {
        Truth operand = readTruth(op.getOperand());
        return operand ? Truth(!*operand) : Truth();
      })
      .Case([&](AndOp op) {
        Truth lhs = readTruth(op.getLhs()), rhs = readTruth(op.getRhs());
        if (lhs == Truth(false) || rhs == Truth(false))
          return Truth(false);
        return lhs && rhs ? Truth(true) : Truth();
      })
      .Case([&](OrOp op) {
        Truth lhs = readTruth(op.getLhs()), rhs = readTruth(op.getRhs());
        if (lhs == Truth(true) || rhs == Truth(true))
          return Truth(true);
        return lhs && rhs ? Truth(false) : Truth();
      })
      .Case([&](SelectOp op) {
        Truth chosen = readTruth(op.getPredicate());
        Truth lhs = readTruth(op.getTrueValue()), rhs = readTruth(op.getFalseValue());
        if (chosen)
          return *chosen ? lhs : rhs;
        return lhs == rhs ? lhs : Truth();
      })
      .Default([](Operation *) { return Truth(); });
}

/// Returns whether the value is −∞ at the current distance, for any data for which it is not NaN.
bool Evaluator::isHidden(Value value) {
  if (isMinusInfinity(value))
    return true;
  if (!value.getDefiningOp())
    return false;
  auto isPositive = [](Value factor) {
    std::optional<double> constant = getConstant(factor);
    return constant && *constant > 0 && std::isfinite(*constant);
  };
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case([&](SelectOp op) {
        Truth chosen = readTruth(op.getPredicate());
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

bool Evaluator::onlyHides(Value value) const {
  if (value == function->getArgument(score::kScore))
    return true;
  auto select = value.getDefiningOp<SelectOp>();
  return select && ((onlyHides(select.getTrueValue()) && isMinusInfinity(select.getFalseValue())) ||
                    (isMinusInfinity(select.getTrueValue()) && onlyHides(select.getFalseValue())));
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

SmallVector<Evaluator::Segment> Evaluator::buildSegments() {
  int64_t first = isCausal ? 0 : 1 - keys, last = queries - 1;
  SmallVector<int64_t> begins = {first};
  for (auto &[op, number] : comparisons) {
    if (number.factor == 0)
      continue;
    double zero = -number.constant / number.factor;
    for (double begin : {std::ceil(zero), std::floor(zero) + 1})
      if (begin > static_cast<double>(first) && begin <= static_cast<double>(last))
        begins.push_back(static_cast<int64_t>(begin));
  }
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());

  SmallVector<Segment> segments;
  for (auto [number, begin] : llvm::enumerate(begins)) {
    Segment segment{{begin, number + 1 < begins.size() ? begins[number + 1] - 1 : last}, {}, true};
    results.clear();
    for (auto &[op, compared] : comparisons) {
      bool result =
          holds(cast<CompareOp>(op).getPredicate(), compared.factor * static_cast<double>(begin) + compared.constant);
      results[op] = result;
      segment.results.push_back(result);
    }
    segment.isVisible = !function || !isHidden(function->getTerminator()->getOperand(0));
    bool continues = !segments.empty() && segments.back().results == segment.results;
    if (continues)
      segments.back().range.last = segment.range.last;
    else
      segments.push_back(std::move(segment));
  }
  return segments;
}

ScoreDistances Evaluator::run() {
  if (function)
    for (auto op : function->getOps<CompareOp>())
      if (std::optional<OfDistance> number = readComparison(op))
        comparisons.insert({op, *number});
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
  // Where nothing is visible, the function hides what is left.
  if (!visible)
    visible = {segments.front().range.first, segments.front().range.first};
  bool hides = !function || onlyHides(function->getTerminator()->getOperand(0));
  ScoreDistances distances{*visible, largest ? largest->range : *visible, DenseMap<Operation *, bool>(), hides};
  if (largest)
    for (auto [comparison, result] : llvm::zip_equal(comparisons, largest->results))
      distances.interiorComparisons[comparison.first] = result;
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
