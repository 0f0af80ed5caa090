//===- AttentionMatcher.cpp - Attention written as primitives -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The match goes from the probabilities backwards: a softmax, masks and scales in any order, a matmul. Names and
// locations are not used.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"

#include "SoftmaxChain.h"
#include "VisibleKeys.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

/// Tensor cores require rows of a multiple of 16 bytes; with larger heads, a tile of queries and keys does not fit into
/// a multiprocessor.
static constexpr int64_t kHeadDimMultiple = 8, kMaxHeadDim = 256;

static std::string quote(Operation *op) { return ("'" + op->getName().getStringRef() + "'").str(); }

namespace {
class Matcher {
public:
  using Result = std::variant<std::monostate, AttentionMatch, AttentionRefusal>;

  Result run(Operation *op);

private:
  bool matchAll(Operation *op);
  bool matchValues(Value probabilities);
  bool matchScores(Operation *softmax, Value input);
  bool hide(Operation *op, const Masking &masking);
  bool refuseBetween(Operation *op);
  bool checkUses();
  bool checkEpilogues();
  bool checkSizes();

  /// Records the refusal. Always returns false.
  bool refuse(Operation *op, StringRef name, const Twine &reason) {
    refusal = AttentionRefusal{op, name, reason.str()};
    return false;
  }

  AttentionMatch match;
  std::optional<AttentionRefusal> refusal;
  std::optional<VisibleKeys> visible;
};
} // namespace

/// Returns whether every element of the result is computed from the same element of the operands.
static bool isPointwise(Operation *op) {
  if (auto fusible = dyn_cast<FusibleOpInterface>(op))
    return !isa<ViewOpInterface>(op) && fusible.getFusionKind() == FusionKind::Pointwise;
  // Composites are classified by their types: activations have one operand, which has the result's type.
  return isa<DecomposableOpInterface>(op) && op->getNumOperands() == 1 &&
         op->getOperand(0).getType() == op->getResult(0).getType();
}

/// Returns the first of the element-wise operations and views that lead from `probabilities` to a matmul, or null.
static Operation *findBetween(Value probabilities) {
  SmallVector<std::pair<Operation *, Operation *>> pending;
  for (Operation *user : probabilities.getUsers())
    pending.push_back({user, user});
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    auto [op, first] = pending.pop_back_val();
    if (isa<MatmulOp>(op))
      return first;
    if (seen.insert(op).second && (isPointwise(op) || isa<ViewOpInterface>(op)))
      for (Operation *user : op->getUsers())
        pending.push_back({user, first});
  }
  return nullptr;
}

/// Finds the matmul of the probabilities with the values. Without one this softmax is not of an attention: returns
/// false without a refusal.
bool Matcher::matchValues(Value probabilities) {
  for (Operation *user : probabilities.getUsers())
    if ((match.values = dyn_cast<MatmulOp>(user)))
      break;
  if (!match.values) {
    Operation *between = findBetween(probabilities);
    return between && refuse(between, "BetweenSoftmaxAndValues",
                             quote(between) + " is between the softmax and its matmul with the values");
  }
  if (match.values.getLhs() != probabilities || match.values.getTransposeA())
    return refuse(match.values, "Transposed",
                  "the probabilities are not the untransposed left operand of the matmul with the values");
  return true;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

bool Matcher::hide(Operation *op, const Masking &masking) {
  if (visible->hide(masking))
    return true;
  if (dependsOnData(masking.selector))
    return refuse(op, "MaskDependsOnData", "the mask is not known at compile time: it depends on data");
  return refuse(op, "MaskNotCausal", "the mask is neither provably causal (key <= query) nor does it show all keys");
}

/// Refuses `op`, which is neither a scale nor a mask, with the reason.
bool Matcher::refuseBetween(Operation *op) {
  auto select = dyn_cast<SelectOp>(op);
  if (select && (getSplatNumber(select.getTrueValue()) || getSplatNumber(select.getFalseValue())))
    return refuse(op, "HiddenNotInfinite",
                  "hidden scores are finite instead of -inf, so they count in rows without larger scores");
  if (isa<AddOp, SelectOp>(op) && llvm::all_of(op->getOperands(), dependsOnData))
    return refuse(op, "MaskDependsOnData",
                  "between scores and softmax, " + quote(op) + " adds or selects values that depend on data");
  if (isPointwise(op))
    return refuse(op, "NotScaleOrMask", "between scores and softmax, " + quote(op) + " is neither a scale nor a mask");
  return refuse(op, "NotPointwise", "between scores and softmax, " + quote(op) + " is not pointwise");
}

/// Walks from the softmax's input back to the matmul of queries and keys.
bool Matcher::matchScores(Operation *softmax, Value input) {
  for (Operation *last = softmax;; last = match.chain.back()) {
    // Hidden scores must stay −∞ through all later operations.
    if (!(match.scale > 0) || !std::isfinite(match.scale))
      return refuse(last, "ScaleNotPositive", "scores are scaled by a number that is not positive and finite");
    Operation *op = input.getDefiningOp();
    if (!op)
      return refuse(softmax, "NoScores", "the softmax's input is not a matmul of queries and keys");
    if ((match.scores = dyn_cast<MatmulOp>(op)))
      return true;
    if (std::optional<Scaling> scaling = matchScaling(op)) {
      match.scale *= scaling->factor;
      input = scaling->operand;
    } else if (std::optional<Masking> masking = matchMasking(op)) {
      if (!hide(op, *masking))
        return false;
      input = masking->operand;
    } else {
      return refuseBetween(op);
    }
    match.chain.push_back(op);
  }
}

//===----------------------------------------------------------------------===//
// Checks of the whole match
//===----------------------------------------------------------------------===//

/// Checks that no operation outside the chain uses its values: the fused operation does not compute scores.
bool Matcher::checkUses() {
  SmallVector<Operation *> computing = match.chain;
  computing.push_back(match.scores);
  for (Operation *op : computing)
    for (Operation *user : op->getUsers())
      if (user != match.values && !llvm::is_contained(match.chain, user))
        return refuse(
            op, "UsedElsewhere",
            (op == match.scores ? "scores are" : "the result of " + quote(op) + ", computed from scores, is") +
                " used elsewhere too, by " + quote(user));
  return true;
}

/// Refuses matmuls with an epilogue, which attention does not have: a bias of scores is not a mask.
bool Matcher::checkEpilogues() {
  for (MatmulOp matmul : {match.scores, match.values})
    if (matmul.hasEpilogue())
      return refuse(matmul, "Epilogue",
                    Twine("the matmul that computes ") + (matmul == match.scores ? "scores" : "the result") +
                        " has an addend, a bias or a ReLU: run --cs336-fuse-epilogues after --cs336-flash-attention");
  return true;
}

bool Matcher::checkSizes() {
  int64_t headDim = match.scores.getSizes().k, valueDim = match.values.getSizes().n;
  if (headDim != valueDim)
    return refuse(match.values, "HeadDim",
                  "queries have " + Twine(headDim) + " features and values " + Twine(valueDim) +
                      "; they must be equal");
  if (headDim % kHeadDimMultiple != 0 || headDim > kMaxHeadDim)
    return refuse(match.values, "HeadDim",
                  "head_dim " + Twine(headDim) + " is not a multiple of " + Twine(kHeadDimMultiple) + " up to " +
                      Twine(kMaxHeadDim));
  if (match.values.getRhs().getDefiningOp() && llvm::is_contained(match.chain, match.values.getRhs().getDefiningOp()))
    return refuse(match.values, "UsedElsewhere", "values are computed from scores");
  return true;
}

/// Matches from the probabilities that `op` computes. Returns false without a refusal if `op` is not the end of an
/// attention.
bool Matcher::matchAll(Operation *op) {
  auto fused = dyn_cast<SoftmaxOp>(op);
  auto softmax = matchSoftmax(op);
  if ((!fused && std::holds_alternative<std::monostate>(softmax)) || !matchValues(op->getResult(0)))
    return false;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  visible.emplace(shape[shape.size() - 2], shape.back());
  if (fused) {
    match.chain.push_back(op);
    match.scale = fused.getScale().convertToDouble();
    if (fused.getMask() && !hide(op, {fused.getOperand(), fused.getMask()}))
      return false;
    return matchScores(op, fused.getOperand()) && checkUses() && checkEpilogues() && checkSizes();
  }
  if (auto *notQuite = std::get_if<SoftmaxRefusal>(&softmax))
    return refuse(op, "NoSoftmax", "the probabilities are not a softmax over keys: " + notQuite->reason);
  auto &chain = std::get<SoftmaxChain>(softmax);
  llvm::append_range(match.chain, chain.operations);
  return matchScores(op, chain.input) && checkUses() && checkEpilogues() && checkSizes();
}

Matcher::Result Matcher::run(Operation *op) {
  if (!matchAll(op))
    return refusal ? Result(*refusal) : Result(std::monostate());
  match.isCausal = !visible->areAll();
  if (match.isCausal && !visible->areCausal())
    return AttentionRefusal{match.values, "MaskNotCausal", "the mask hides other keys than those after the query"};
  return match;
}

std::variant<std::monostate, AttentionMatch, AttentionRefusal> cs336::matchAttention(Operation *op) {
  return Matcher().run(op);
}
