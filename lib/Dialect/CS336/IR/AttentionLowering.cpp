//===- AttentionLowering.cpp - The formula of attention as linalg ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of the operations, one statement per line, with scores and probabilities as tensors. Targets have
// schedules that compute attention by tiles. They use this form for sizes that those schedules do not accept.
//
//===----------------------------------------------------------------------===//

#include "ScalarConversion.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace cs336;

using Lowered = FailureOr<SmallVector<Value>>;

namespace {
/// A tensor and its axes, one letter each: b batch, i query, j key, k key head, g position in the group of query heads
/// that share it, d feature; H is the query head that k and g name.
struct Indexed {
  Value tensor;
  StringRef axes;
};

/// Builds the scalar arithmetic of one element.
using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// Builds statements over the axes of an attention.
class StatementBuilder {
public:
  template <typename Op>
  StatementBuilder(OpBuilder &builder, Op op, ValueRange tables)
      : builder(builder), loc(op.getLoc()), isCausal(op.getCausal()), scale(op.getScale().convertToDouble()),
        function(op.hasScoreFunction() ? &op.getScoreFunction() : nullptr), tables(tables),
        compute(getComputeType(op.getQuery().getType().getElementType())) {
    auto sizes = op.getSizes();
    group = sizes.group;
    sizeOf = {{'b', sizes.batch},    {'i', sizes.queries}, {'j', sizes.keys},
              {'k', sizes.keyHeads}, {'g', sizes.group},   {'d', sizes.headDim}};
  }

  /// Multiplies two tensors and sums over the axes that `axes` does not contain.
  Indexed contract(Indexed lhs, Indexed rhs, StringRef axes);
  /// Reduces the last axis.
  Indexed reduce(Indexed input, bool isMax);
  /// Computes each element of the result from one element of every input.
  Indexed map(ArrayRef<Indexed> inputs, StringRef axes, Body body, Value init = Value());
  Value write(Indexed input, Indexed init);

  /// Computes scale · Σ_d q·k, over [b, i, k, g, j].
  Indexed buildScores(Value query, Value key);
  bool hasScoreFunction() const { return function != nullptr; }
  /// Applies the score function to scaled scores, and returns the value that it yields as number `result`.
  Indexed applyFunction(Indexed scores, unsigned result);
  /// Returns `number`, or 0 in place of −∞: with a score function, this is the maximum and the log-sum-exp of a row
  /// without visible keys.
  Value shiftBy(OpBuilder &b, Location at, Value number);
  /// Returns `number` if query i sees key j, else `hidden`, inside a statement over [b, i, k, g, j].
  Value hide(OpBuilder &b, Location at, Value number, double hidden);

  Value constant(OpBuilder &b, Location at, double value) {
    return arith::ConstantOp::create(b, at, b.getFloatAttr(compute, value));
  }

  static constexpr StringRef kScores = "bikgj", kRows = "bikg";

private:
  Value makeTensor(StringRef axes);
  Value fill(StringRef axes, TypedAttr value);
  AffineMap getMap(StringRef loops, StringRef axes);
  Indexed build(StringRef loops, ArrayRef<Indexed> inputs, Value init, StringRef axes, Body body);

  OpBuilder &builder;
  Location loc;
  bool isCausal;
  double scale;
  Block *function;
  ValueRange tables;
  Type compute;
  int64_t group;
  llvm::SmallDenseMap<char, int64_t> sizeOf;
};
} // namespace

/// Returns whether `axis` is one of `axes`. H stands for k and g.
static bool isAxisOf(char axis, StringRef axes) {
  return axes.contains(axis) || (axes.contains('H') && (axis == 'k' || axis == 'g'));
}

Value StatementBuilder::makeTensor(StringRef axes) {
  auto shape = llvm::map_to_vector(axes, [&](char axis) { return sizeOf.lookup(axis); });
  return tensor::EmptyOp::create(builder, loc, shape, compute);
}

AffineMap StatementBuilder::getMap(StringRef loops, StringRef axes) {
  auto dim = [&](char axis) { return builder.getAffineDimExpr(loops.find(axis)); };
  SmallVector<AffineExpr> exprs;
  for (char axis : axes)
    exprs.push_back(axis != 'H' ? dim(axis) : group == 1 ? dim('k') : dim('k') * group + dim('g'));
  return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
}

/// Reduces over the loops that `axes` does not contain.
Indexed StatementBuilder::build(StringRef loops, ArrayRef<Indexed> inputs, Value init, StringRef axes, Body body) {
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const Indexed &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(getMap(loops, input.axes));
  }
  maps.push_back(getMap(loops, axes));
  SmallVector<utils::IteratorType> iterators;
  for (char loop : loops)
    iterators.push_back(isAxisOf(loop, axes) ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), tensors, init, maps, iterators,
      [&](OpBuilder &b, Location at, ValueRange scalars) { linalg::YieldOp::create(b, at, body(b, at, scalars)); });
  return {generic.getResult(0), axes};
}

Value StatementBuilder::fill(StringRef axes, TypedAttr value) {
  return build(axes, {}, makeTensor(axes), axes,
               [&](OpBuilder &b, Location at, ValueRange) -> Value { return arith::ConstantOp::create(b, at, value); })
      .tensor;
}

Indexed StatementBuilder::contract(Indexed lhs, Indexed rhs, StringRef axes) {
  Value init = fill(axes, builder.getZeroAttr(compute));
  std::string loops;
  for (char axis : StringRef("bikgjd"))
    if (isAxisOf(axis, lhs.axes) || isAxisOf(axis, rhs.axes))
      loops.push_back(axis);
  return build(loops, {lhs, rhs}, init, axes, [&](OpBuilder &b, Location at, ValueRange scalars) -> Value {
    Value product = arith::MulFOp::create(b, at, convertScalar(b, at, scalars[0], compute),
                                          convertScalar(b, at, scalars[1], compute));
    return arith::AddFOp::create(b, at, scalars[2], product, arith::FastMathFlags::reassoc);
  });
}

Indexed StatementBuilder::reduce(Indexed input, bool isMax) {
  StringRef kept = input.axes.drop_back();
  TypedAttr neutral = builder.getZeroAttr(compute);
  if (isMax)
    neutral = builder.getFloatAttr(compute, -std::numeric_limits<double>::infinity());
  return build(input.axes, input, fill(kept, neutral), kept,
               [&](OpBuilder &b, Location at, ValueRange scalars) -> Value {
                 if (isMax)
                   return arith::MaximumFOp::create(b, at, scalars[1], scalars[0]);
                 return arith::AddFOp::create(b, at, scalars[1], scalars[0], arith::FastMathFlags::reassoc);
               });
}

Indexed StatementBuilder::map(ArrayRef<Indexed> inputs, StringRef axes, Body body, Value init) {
  return build(axes, inputs, init ? init : makeTensor(axes), axes, body);
}

/// Rounds a result to the type of its destination.
Value StatementBuilder::write(Indexed input, Indexed init) {
  Type element = getElementTypeOrSelf(init.tensor.getType());
  return build(input.axes, input, init.tensor, init.axes,
               [&](OpBuilder &b, Location at, ValueRange scalars) { return convertScalar(b, at, scalars[0], element); })
      .tensor;
}

Indexed StatementBuilder::buildScores(Value query, Value key) {
  Indexed dots = contract({query, "biHd"}, {key, "bjkd"}, kScores);
  return map(dots, kScores, [&](OpBuilder &b, Location at, ValueRange scalars) -> Value {
    return arith::MulFOp::create(b, at, scalars[0], constant(b, at, scale));
  });
}

Value StatementBuilder::hide(OpBuilder &b, Location at, Value number, double hidden) {
  if (!isCausal)
    return number;
  Value query = linalg::IndexOp::create(b, at, kScores.find('i'));
  Value key = linalg::IndexOp::create(b, at, kScores.find('j'));
  Value sees = arith::CmpIOp::create(b, at, arith::CmpIPredicate::sle, key, query);
  return arith::SelectOp::create(b, at, sees, number, constant(b, at, hidden));
}

Indexed StatementBuilder::applyFunction(Indexed scores, unsigned result) {
  return map(scores, kScores, [&](OpBuilder &b, Location at, ValueRange x) {
    auto index = [&](char axis) -> Value { return linalg::IndexOp::create(b, at, kScores.find(axis)); };
    auto toI32 = [&](Value value) -> Value { return arith::IndexCastOp::create(b, at, b.getI32Type(), value); };
    Value head = arith::MulIOp::create(b, at, index('k'), arith::ConstantIndexOp::create(b, at, group));
    head = arith::AddIOp::create(b, at, head, index('g'));
    Value arguments[] = {x[0], toI32(index('b')), toI32(head), toI32(index('i')), toI32(index('j'))};
    auto readElement = [&](OpBuilder &b, Location at, unsigned table, ValueRange indices) -> Value {
      auto places = llvm::map_to_vector(
          indices, [&](Value each) -> Value { return arith::IndexCastOp::create(b, at, b.getIndexType(), each); });
      return tensor::ExtractOp::create(b, at, tables[table], places);
    };
    return buildScoreScalars(b, at, *function, arguments, readElement)[result];
  });
}

Value StatementBuilder::shiftBy(OpBuilder &b, Location at, Value number) {
  if (!function)
    return number;
  Value infinite = constant(b, at, -std::numeric_limits<double>::infinity());
  Value isEmpty = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, number, infinite);
  return arith::SelectOp::create(b, at, isEmpty, constant(b, at, 0.0), number);
}

FusionKind AttentionOp::getFusionKind() { return FusionKind::Opaque; }
bool AttentionOp::readsContiguousRows() { return true; }

Lowered AttentionOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  StatementBuilder s(builder, *this, inputs.drop_front(3));
  Value query = inputs[0], key = inputs[1], value = inputs[2];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Indexed scores = s.buildScores(query, key);
  if (s.hasScoreFunction())
    scores = s.applyFunction(scores, 0);
  Indexed visible = s.map(scores, s.kScores,
                          [&](OpBuilder &b, Location at, ValueRange x) { return s.hide(b, at, x[0], -kInfinity); });
  Indexed maximum = s.reduce(visible, /*isMax=*/true);
  Indexed powers = s.map({visible, maximum}, s.kScores, [&](OpBuilder &b, Location at, ValueRange x) -> Value {
    return math::ExpOp::create(b, at, arith::SubFOp::create(b, at, x[0], s.shiftBy(b, at, x[1])));
  });
  Indexed sum = s.reduce(powers, /*isMax=*/false);
  Indexed sums = s.contract(powers, {value, "bjkd"}, "bikgd");
  Indexed quotients = s.map({sums, sum}, "bikgd", [&](OpBuilder &b, Location at, ValueRange x) -> Value {
    Value quotient = arith::DivFOp::create(b, at, x[0], x[1]);
    if (!s.hasScoreFunction())
      return quotient;
    Value zero = s.constant(b, at, 0.0);
    Value isEmpty = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, x[1], zero);
    return arith::SelectOp::create(b, at, isEmpty, zero, quotient);
  });
  Indexed logarithms = s.map({maximum, sum}, s.kRows, [&](OpBuilder &b, Location at, ValueRange x) -> Value {
    return arith::AddFOp::create(b, at, s.shiftBy(b, at, x[0]), math::LogOp::create(b, at, x[1]));
  });
  return SmallVector<Value>{s.write(quotients, {inits[0], "biHd"}), s.write(logarithms, {inits[1], "bHi"})};
}

FusionKind AttentionBackwardOp::getFusionKind() { return FusionKind::Opaque; }
bool AttentionBackwardOp::readsContiguousRows() { return true; }

Lowered AttentionBackwardOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  StatementBuilder s(builder, *this, inputs.drop_front(6));
  Indexed query{inputs[0], "biHd"}, key{inputs[1], "bjkd"}, value{inputs[2], "bjkd"}, output{inputs[3], "biHd"},
      logSumExp{inputs[4], "bHi"}, gradient{inputs[5], "biHd"};
  double scale = getScale().convertToDouble();

  Indexed scaled = s.buildScores(query.tensor, key.tensor);
  Indexed scores = s.hasScoreFunction() ? s.applyFunction(scaled, 0) : scaled;
  Indexed probabilities = s.map({scores, logSumExp}, s.kScores, [&](OpBuilder &b, Location at, ValueRange x) -> Value {
    Value power = math::ExpOp::create(b, at, arith::SubFOp::create(b, at, x[0], s.shiftBy(b, at, x[1])));
    return s.hide(b, at, power, 0.0);
  });
  Indexed slopes = s.contract(gradient, value, s.kScores);
  // Both forms of delta are equal without rounding. With a rounded output, rows of score gradients would not sum to
  // zero.
  bool outputIsRounded = getElementTypeOrSelf(output.tensor.getType()).getIntOrFloatBitWidth() < 32;
  Indexed delta = outputIsRounded ? s.contract(probabilities, slopes, s.kRows) : s.contract(gradient, output, s.kRows);
  Indexed scoreGradients =
      s.map({probabilities, slopes, delta}, s.kScores, [&](OpBuilder &b, Location at, ValueRange x) -> Value {
        Value slope = arith::MulFOp::create(b, at, x[0], arith::SubFOp::create(b, at, x[1], x[2]));
        return arith::MulFOp::create(b, at, slope, s.constant(b, at, scale));
      });
  if (s.hasScoreFunction())
    scoreGradients = s.map(
        {scoreGradients, s.applyFunction(scaled, 1)}, s.kScores,
        [](OpBuilder &b, Location at, ValueRange x) -> Value { return arith::MulFOp::create(b, at, x[0], x[1]); });
  return SmallVector<Value>{s.write(s.contract(scoreGradients, key, "bikgd"), {inits[0], "biHd"}),
                            s.write(s.contract(scoreGradients, query, "bjkd"), {inits[1], "bjkd"}),
                            s.write(s.contract(probabilities, gradient, "bjkd"), {inits[2], "bjkd"})};
}
