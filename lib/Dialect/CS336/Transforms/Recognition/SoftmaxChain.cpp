//===- SoftmaxChain.cpp - A softmax written as primitives -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxChain.h"

#include "../ScaleAndMask.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

using SoftmaxMatch = std::variant<std::monostate, SoftmaxChain, SoftmaxRefusal>;

/// Returns the other factor if `value` is `factor` times another value.
static Value getOtherFactor(Value value, Value factor) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product || (product.getLhs() != factor && product.getRhs() != factor))
    return nullptr;
  return product.getLhs() == factor ? product.getRhs() : product.getLhs();
}

static bool isProductOf(Value value, Value lhs, Value rhs) { return getOtherFactor(value, lhs) == rhs; }

/// Returns the only operation that reads `value`, if it has this type.
template <typename OpTy>
static OpTy getOnlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<OpTy>(*value.user_begin()) : OpTy();
}

namespace {
/// Returns the reduction whose result is repeated.
struct RepeatedReduction {
  ReduceOp reduce;
  BroadcastOp broadcast;

  /// Returns whether the reduction is over the last axis, and its result is repeated along the last axis.
  bool isOfRows() {
    int64_t rows = rankOf(reduce.getOperand()) - 1;
    return reduce.getAxes() == ArrayRef<int64_t>{rows} && broadcast.getType() == reduce.getOperand().getType() &&
           llvm::equal(broadcast.getDims(), llvm::seq<int64_t>(0, rows));
  }
};

class SoftmaxMatcher {
public:
  SoftmaxMatch run(Operation *op);

private:
  struct Quotient {
    ExpOp numerator;
    RepeatedReduction denominator;
  };

  std::optional<Quotient> matchQuotient(Operation *op);
  void matchGradient(DivOp quotient);
  Value matchMaximumGradient(Value inputGradient);
  std::string findOtherUse();

  SoftmaxChain chain;
  ExpOp exponentials;
  RepeatedReduction maximum, sum;
};
} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static std::optional<RepeatedReduction> matchRepeated(Value value, ReduceKind kind) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto reduce = broadcast ? broadcast.getOperand().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!reduce || reduce.getKind() != kind)
    return std::nullopt;
  return RepeatedReduction{reduce, broadcast};
}

/// Returns x if `value` is 1/x.
static Value matchReciprocal(Value value) {
  auto div = value.getDefiningOp<DivOp>();
  return div && getSplatNumber(div.getLhs()) == 1.0 ? div.getRhs() : Value();
}

/// Matches e/broadcast(Σ), e·(1/broadcast(Σ)) or e·broadcast(1/Σ).
std::optional<SoftmaxMatcher::Quotient> SoftmaxMatcher::matchQuotient(Operation *op) {
  if (auto div = dyn_cast<DivOp>(op)) {
    auto exp = div.getLhs().getDefiningOp<ExpOp>();
    std::optional<RepeatedReduction> repeated = matchRepeated(div.getRhs(), ReduceKind::Sum);
    return exp && repeated ? std::optional(Quotient{exp, *repeated}) : std::nullopt;
  }
  auto mul = dyn_cast<MulOp>(op);
  if (!mul)
    return std::nullopt;
  for (auto [numerator, factor] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())}) {
    auto exp = numerator.getDefiningOp<ExpOp>();
    if (!exp)
      continue;
    Value repeated = matchReciprocal(factor);
    if (auto found = repeated ? matchRepeated(repeated, ReduceKind::Sum) : std::nullopt) {
      chain.operations.insert(factor.getDefiningOp());
      return Quotient{exp, *found};
    }
    auto broadcast = factor.getDefiningOp<BroadcastOp>();
    Value total = broadcast ? matchReciprocal(broadcast.getOperand()) : Value();
    auto reduce = total ? total.getDefiningOp<ReduceOp>() : ReduceOp();
    if (!reduce || reduce.getKind() != ReduceKind::Sum)
      continue;
    chain.operations.insert(broadcast.getOperand().getDefiningOp());
    return Quotient{exp, {reduce, broadcast}};
  }
  return std::nullopt;
}

SoftmaxMatch SoftmaxMatcher::run(Operation *op) {
  std::optional<Quotient> quotient = matchQuotient(op);
  if (!quotient)
    return std::monostate();
  exponentials = quotient->numerator;
  sum = quotient->denominator;
  if (sum.reduce.getOperand() != exponentials.getResult())
    return SoftmaxRefusal{"the exponentials are divided by the sum of something else"};
  if (!sum.isOfRows())
    return SoftmaxRefusal{"the sum is not over the last axis, or not repeated along it"};
  auto shifted = exponentials.getOperand().getDefiningOp<SubOp>();
  std::optional<RepeatedReduction> subtracted =
      shifted ? matchRepeated(shifted.getRhs(), ReduceKind::Max) : std::nullopt;
  if (!subtracted)
    return SoftmaxRefusal{"no maximum is subtracted right before the exponentials, which may overflow"};
  maximum = *subtracted;
  if (maximum.reduce.getOperand() != shifted.getLhs())
    return SoftmaxRefusal{"the maximum of something else is subtracted"};
  if (!maximum.isOfRows())
    return SoftmaxRefusal{"the maximum is not over the last axis, or not repeated along it"};

  chain.input = shifted.getLhs();
  chain.result = op->getResult(0);
  for (Operation *part : std::initializer_list<Operation *>{maximum.reduce, maximum.broadcast, shifted, exponentials,
                                                            sum.reduce, sum.broadcast, op})
    chain.operations.insert(part);
  if (auto div = dyn_cast<DivOp>(op))
    matchGradient(div);
  if (std::string other = findOtherUse(); !other.empty())
    return SoftmaxRefusal{"its " + other + " used elsewhere too"};
  return chain;
}

/// Returns a description of the chain's values that operations outside it use, with its verb, or an empty string.
std::string SoftmaxMatcher::findOtherUse() {
  for (Operation *op : chain.operations) {
    Value result = op->getResult(0);
    bool isInside = llvm::all_of(op->getUsers(), [&](Operation *user) { return chain.operations.contains(user); });
    if (isInside || result == chain.result || result == chain.inputGradient)
      continue;
    if (op == maximum.reduce || op == maximum.broadcast)
      return "maximum is";
    if (op == exponentials)
      return "exponentials are";
    if (op == exponentials.getOperand().getDefiningOp())
      return "differences to the maximum are";
    return "sum is";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Matches dz = e·(a + broadcast(Σ −(a·y))), where a = dy/Σe.
void SoftmaxMatcher::matchGradient(DivOp quotient) {
  DivOp ratio;
  for (Operation *user : sum.broadcast->getUsers())
    if (auto div = dyn_cast<DivOp>(user); div && div != quotient && div.getRhs() == sum.broadcast.getResult())
      ratio = div;
  if (!ratio || llvm::range_size(ratio->getUsers()) != 2)
    return;
  AddOp total;
  MulOp product;
  for (Operation *user : ratio->getUsers()) {
    if (auto add = dyn_cast<AddOp>(user))
      total = add;
    else if (auto mul = dyn_cast<MulOp>(user); mul && isProductOf(mul.getResult(), ratio, chain.result))
      product = mul;
  }
  auto negated = product ? getOnlyUser<NegOp>(product) : NegOp();
  auto reduce = negated ? getOnlyUser<ReduceOp>(negated) : ReduceOp();
  auto broadcast = reduce ? getOnlyUser<BroadcastOp>(reduce) : BroadcastOp();
  if (!broadcast || reduce.getKind() != ReduceKind::Sum || !RepeatedReduction{reduce, broadcast}.isOfRows() || !total ||
      getOnlyUser<AddOp>(broadcast) != total || total.getLhs() == total.getRhs())
    return;
  auto scaled = getOnlyUser<MulOp>(total);
  if (!scaled || !isProductOf(scaled, total, exponentials))
    return;
  chain.resultGradient = ratio.getLhs();
  chain.inputGradient = scaled;
  for (Operation *part : std::initializer_list<Operation *>{ratio, product, negated, reduce, broadcast, total, scaled})
    chain.operations.insert(part);
  if (!maximum.reduce.getStopGradient())
    if (Value whole = matchMaximumGradient(scaled))
      chain.inputGradient = whole;
}

/// Matches dz + select(z = max z, broadcast(Σ(−dz)/number of maxima), 0).
Value SoftmaxMatcher::matchMaximumGradient(Value inputGradient) {
  NegOp negated;
  AddOp total;
  for (Operation *user : inputGradient.getUsers()) {
    if (auto neg = dyn_cast<NegOp>(user))
      negated = neg;
    else if (auto add = dyn_cast<AddOp>(user))
      total = add;
  }
  auto reduce = negated ? getOnlyUser<ReduceOp>(negated) : ReduceOp();
  auto share = reduce ? getOnlyUser<DivOp>(reduce) : DivOp();
  auto shares = share ? getOnlyUser<BroadcastOp>(share) : BroadcastOp();
  auto chosen = shares ? getOnlyUser<SelectOp>(shares) : SelectOp();
  if (!chosen || !total || getOnlyUser<AddOp>(chosen) != total || share.getLhs() != reduce.getResult() ||
      reduce.getKind() != ReduceKind::Sum || !RepeatedReduction{reduce, shares}.isOfRows() ||
      chosen.getTrueValue() != shares.getResult() || getSplatNumber(chosen.getFalseValue()) != 0.0)
    return nullptr;
  auto attains = chosen.getPredicate().getDefiningOp<CompareOp>();
  auto count = share.getRhs().getDefiningOp<ReduceOp>();
  auto ones = count ? count.getOperand().getDefiningOp<CastOp>() : CastOp();
  auto spread = attains ? attains.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!ones || !spread || attains.getPredicate() != Predicate::EQ || attains.getLhs() != chain.input ||
      spread.getOperand() != maximum.reduce.getResult() || !RepeatedReduction{maximum.reduce, spread}.isOfRows() ||
      ones.getOperand() != attains.getResult() || count.getKind() != ReduceKind::Sum ||
      count.getAxes() != reduce.getAxes())
    return nullptr;
  for (Operation *part :
       std::initializer_list<Operation *>{spread, attains, ones, count, negated, reduce, share, shares, chosen, total})
    chain.operations.insert(part);
  return total;
}

SoftmaxMatch cs336::matchSoftmax(Operation *op) { return SoftmaxMatcher().run(op); }
