//===- AttentionMatcher.cpp - Attention written as primitives -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The match goes from the probabilities backwards: a softmax, element-wise operations, a matmul. If these operations
// are scales and masks that together are causal or hide nothing, the attention is plain; otherwise they become its
// score function. Names and locations are not used.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"

#include "SoftmaxChain.h"
#include "VisibleKeys.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"

using namespace mlir;
using namespace cs336;

/// With larger heads, a tile of queries and keys does not fit into a multiprocessor.
static constexpr int64_t kMaxHeadDim = 256;

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
  bool matchPlain(Operation *softmax, Value input);
  bool matchFunction(Operation *softmax, Value input);
  MatmulOp findScores(Value input, Operation *&blocking);
  bool collectChain(Value input);
  void peelScales();
  void peelMasks();
  bool checkUses();
  bool checkEpilogues();
  bool checkSizes();

  /// Records the refusal. Always returns false.
  bool refuse(Operation *op, StringRef name, const Twine &reason) {
    refusal = AttentionRefusal{op, name, reason.str()};
    return false;
  }

  /// Returns keys that are all visible.
  VisibleKeys showAll();

  AttentionMatch match;
  std::optional<AttentionRefusal> refusal;
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

/// Returns whether `op` is computed from a matmul with a result of its own shape or a permutation of it.
static bool findMatmulBehind(Operation *op) {
  auto count = [](Operation *each) { return tensorType(each->getResult(0)).getNumElements(); };
  SmallVector<Operation *> pending = {op};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    if (isa<MatmulOp>(next) && count(next) == count(op))
      return true;
    if (seen.insert(next).second)
      for (Value operand : next->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          pending.push_back(producer);
  }
  return false;
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

VisibleKeys Matcher::showAll() {
  ArrayRef<int64_t> shape = shapeOf(match.values.getLhs());
  return VisibleKeys(shape[shape.size() - 2], shape.back());
}

/// Walks from the softmax's input back to the matmul of queries and keys, through scales and masks alone.
bool Matcher::matchPlain(Operation *softmax, Value input) {
  double scale = 1;
  VisibleKeys visible = showAll();
  SmallVector<Operation *> chain;
  if (auto fused = dyn_cast<SoftmaxOp>(softmax)) {
    scale = fused.getScale().convertToDouble();
    if (fused.getMask() && !visible.hide({fused.getOperand(), fused.getMask()}))
      return false;
  }
  MatmulOp scores;
  while (!scores) {
    // Hidden scores must stay −∞ through all later operations.
    Operation *op = input.getDefiningOp();
    if (!op || !(scale > 0) || !fitsFloat32(scale))
      return false;
    if ((scores = dyn_cast<MatmulOp>(op)))
      break;
    if (std::optional<Scaling> scaling = matchScaling(op)) {
      scale *= scaling->factor;
      input = scaling->operand;
    } else if (std::optional<Masking> masking = matchMasking(op); masking && visible.hide(*masking)) {
      input = masking->operand;
    } else {
      return false;
    }
    chain.push_back(op);
  }
  if (!visible.areAll() && !visible.areCausal())
    return false;
  match.scores = scores;
  match.scale = scale;
  match.isCausal = !visible.areAll();
  llvm::append_range(match.chain, chain);
  return true;
}

/// Returns the matmul that a chain of operations of score functions leads to from `input`. Without such a matmul,
/// `blocking` is the first other operation on the way to a matmul, or null.
MatmulOp Matcher::findScores(Value input, Operation *&blocking) {
  blocking = nullptr;
  SmallVector<Value> pending = {input};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second || shapeOf(value) != shapeOf(input))
      continue;
    if (auto matmul = dyn_cast<MatmulOp>(op))
      return matmul;
    if (isScoreOperation(op))
      llvm::append_range(pending, llvm::reverse(op->getOperands()));
    else if (!blocking && findMatmulBehind(op))
      blocking = op;
  }
  return nullptr;
}

/// Collects the operations between the scores and `input`, in reverse order. Refuses those that a score function cannot
/// contain.
bool Matcher::collectChain(Value input) {
  llvm::DenseMap<Value, bool> depends{{match.scores.getResult(), true}};
  SmallVector<Operation *> chain;
  SmallVector<Value> pending = {input};
  while (!pending.empty()) {
    Value value = pending.back();
    Operation *op = value.getDefiningOp();
    if (depends.contains(value) || !op || !isScoreOperation(op)) {
      depends.try_emplace(value, false);
      pending.pop_back();
      continue;
    }
    auto unknown = llvm::find_if(op->getOperands(), [&](Value operand) { return !depends.contains(operand); });
    if (unknown != op->getOperands().end()) {
      pending.push_back(*unknown);
      continue;
    }
    depends[value] = llvm::any_of(op->getOperands(), [&](Value operand) { return depends.lookup(operand); });
    if (depends[value])
      chain.push_back(op);
    pending.pop_back();
  }
  if (chain.size() > AttentionMatch::kMostChained)
    return refuse(chain.front(), "NotInScoreFunction",
                  Twine(chain.size()) + " operations are between scores and softmax; a score function has at most " +
                      Twine(AttentionMatch::kMostChained));
  for (Operation *op : chain)
    if (isa<CastOp>(op) && isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
      return refuse(op, "NotInScoreFunction", "between scores and softmax, " + quote(op) + " rounds or widens scores");
  llvm::append_range(match.chain, llvm::reverse(chain));
  return true;
}

/// Moves scales of the scores alone from the function to the operation's scale.
void Matcher::peelScales() {
  Value &input = match.functionInput;
  input = match.scores.getResult();
  while (input != match.functionResult && input.hasOneUse()) {
    Operation *user = *input.user_begin();
    std::optional<Scaling> scaling = matchScaling(user);
    double scale = scaling ? match.scale * scaling->factor : 0;
    if (!scaling || scaling->operand != input || !(scale > 0) || !fitsFloat32(scale))
      return;
    match.scale = scale;
    input = user->getResult(0);
  }
}

/// Moves a mask that is causal, or that hides nothing, from the function's end to the operation's own mask.
void Matcher::peelMasks() {
  if (match.softmax)
    return;
  while (Operation *op = match.functionResult.getDefiningOp()) {
    std::optional<Masking> masking = llvm::is_contained(match.chain, op) ? matchMasking(op) : std::nullopt;
    VisibleKeys visible = showAll();
    if (!masking || !visible.hide(*masking) || (!visible.areAll() && !visible.areCausal()))
      return;
    match.isCausal |= !visible.areAll();
    match.functionResult = masking->operand;
  }
}

/// Finds the matmul of queries and keys, and makes what is between it and the softmax the score function.
bool Matcher::matchFunction(Operation *softmax, Value input) {
  Operation *blocking;
  match.scores = findScores(input, blocking);
  if (!match.scores && blocking)
    return refuse(blocking, "NotPointwise", "between scores and softmax, " + quote(blocking) + " is not pointwise");
  if (!match.scores)
    return refuse(softmax, "NoScores", "the softmax's input is not a matmul of queries and keys");
  if (!collectChain(input))
    return false;
  if (auto fused = dyn_cast<SoftmaxOp>(softmax)) {
    VisibleKeys visible = showAll();
    bool isPlain = !fused.getMask() ||
                   (visible.hide({fused.getOperand(), fused.getMask()}) && (visible.areAll() || visible.areCausal()));
    if (isPlain && fused.getScale().isExactlyValue(1.0))
      match.isCausal = !visible.areAll();
    else
      match.softmax = fused;
  }
  match.functionResult = input;
  peelMasks();
  peelScales();
  return true;
}

bool Matcher::matchScores(Operation *softmax, Value input) {
  return matchPlain(softmax, input) || matchFunction(softmax, input);
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
  if (headDim > kMaxHeadDim)
    return refuse(match.values, "HeadDim", "head_dim " + Twine(headDim) + " is above " + Twine(kMaxHeadDim));
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
  if (fused) {
    match.chain.push_back(op);
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
  return match;
}

bool cs336::isScoreOperation(Operation *op) {
  bool isActivation = isa<DecomposableOpInterface>(op) && op->hasTrait<OpTrait::Elementwise>();
  return isActivation || isa<ScalarOpInterface>(op);
}

std::variant<std::monostate, AttentionMatch, AttentionRefusal> cs336::matchAttention(Operation *op) {
  return Matcher().run(op);
}
