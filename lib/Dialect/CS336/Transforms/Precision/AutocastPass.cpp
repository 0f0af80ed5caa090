//===- AutocastPass.cpp - Mixed precision by policy -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ScaleAndMask.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_AUTOCASTPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

/// Returns the element type of a floating-point tensor, or null.
static FloatType getFloatType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
}

static constexpr RemarkOptions autocastRemarks("cs336-autocast");

static bool isLow(FloatType type) { return type.getWidth() < 32; }

/// Returns the narrowest type that represents both. For bf16 and f16 it is float32.
static FloatType promote(FloatType lhs, FloatType rhs) {
  if (lhs == rhs)
    return lhs;
  if (lhs.getWidth() == rhs.getWidth())
    return Float32Type::get(lhs.getContext());
  return lhs.getWidth() > rhs.getWidth() ? lhs : rhs;
}

static bool isExactIn(APFloat number, FloatType type) {
  bool losesInfo = false;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return !losesInfo;
}

namespace {
/// The compute type and the result type of an operation.
struct Choice {
  FloatType compute, result;
};

/// Rewrites one block in order, so that operands have their final types when an operation is met.
class Autocast {
public:
  Autocast(Block &block, FloatType low) : block(block), low(low), builder(low.getContext()) {}

  void run();
  /// Casts the results with these numbers back to their types.
  void restoreResults(ArrayRef<unsigned> results);

  int64_t numCasts = 0;

private:
  Value getCast(Value value, FloatType type, Operation *user);
  std::optional<Choice> choose(Operation *op);
  void castOperands(Operation *op, FloatType type);
  void restoreOperands(Operation *op);
  void setResults(Operation *op, Choice choice);

  Block &block;
  FloatType low;
  OpBuilder builder;
  DenseMap<std::pair<Value, Type>, Value> casts;
  /// The element type that a value had before the type of its operation changed.
  DenseMap<Value, FloatType> original;
};
} // namespace

/// Creates the cast before its first user. Later users follow it.
Value Autocast::getCast(Value value, FloatType type, Operation *user) {
  auto tensor = cast<RankedTensorType>(value.getType());
  if (tensor.getElementType() == type)
    return value;
  Value &cast = casts[{value, type}];
  if (!cast) {
    builder.setInsertionPoint(user);
    cast = CastOp::create(builder, user->getLoc(), tensor.clone(type), value);
    ++numCasts;
  }
  return cast;
}

/// Returns the types that the policy requires, or nullopt if the operation is unchanged.
std::optional<Choice> Autocast::choose(Operation *op) {
  FloatType first, widestTensor;
  bool hasF64 = false;
  for (Value operand : op->getOperands()) {
    FloatType type = getFloatType(operand.getType());
    if (!type)
      continue;
    hasF64 |= type.isF64();
    first = first ? first : type;
    if (!getSplat(operand))
      widestTensor = widestTensor ? promote(widestTensor, type) : type;
  }
  auto policyOp = dyn_cast<AutocastOpInterface>(op);
  AutocastPolicy policy = policyOp ? policyOp.getAutocastPolicy() : AutocastPolicy::Keep;
  if (!first || policy == AutocastPolicy::Explicit)
    return std::nullopt;
  auto float32 = Float32Type::get(op->getContext());
  switch (policy) {
  case AutocastPolicy::Low:
  case AutocastPolicy::Float32: {
    if (hasF64) {
      remark::missed(op->getLoc(), autocastRemarks("Float64Kept"))
          << remark::add("'{0}' has float64 operands, which autocast does not change", op->getName().getStringRef());
      return std::nullopt;
    }
    FloatType type = policy == AutocastPolicy::Low ? low : float32;
    return Choice{type, type};
  }
  case AutocastPolicy::Widest: {
    if (!widestTensor)
      return std::nullopt;
    FloatType compute = widestTensor;
    for (Value operand : op->getOperands())
      if (std::optional<APFloat> number = getSplat(operand); number && isLow(compute) && !isExactIn(*number, compute))
        compute = float32;
    return Choice{compute, widestTensor};
  }
  case AutocastPolicy::Keep:
    return Choice{FloatType(), first};
  case AutocastPolicy::Explicit:
    break;
  }
  return std::nullopt;
}

void Autocast::castOperands(Operation *op, FloatType type) {
  auto policyOp = dyn_cast<AutocastOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!getFloatType(operand.get().getType()))
      continue;
    bool keepsType = policyOp && policyOp.keepsOperandType(operand.getOperandNumber());
    FloatType before = original.lookup(operand.get());
    if (!keepsType)
      operand.set(getCast(operand.get(), type, op));
    else if (before)
      operand.set(getCast(operand.get(), before, op));
  }
}

/// Restores the operands' types, also in the regions of `op`. Casts for these are in front of `op` too.
void Autocast::restoreOperands(Operation *op) {
  op->walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (FloatType type = original.lookup(operand.get()))
        operand.set(getCast(operand.get(), type, op));
  });
}

void Autocast::setResults(Operation *op, Choice choice) {
  auto policyOp = dyn_cast<AutocastOpInterface>(op);
  for (OpResult result : op->getResults()) {
    FloatType before = getFloatType(result.getType());
    if (!before || (policyOp && policyOp.keepsResultType(result.getResultNumber())))
      continue;
    auto tensor = cast<RankedTensorType>(result.getType());
    FloatType compute = choice.compute ? choice.compute : choice.result;
    if (compute != before) {
      result.setType(tensor.clone(compute));
      original[result] = before;
    }
    if (compute == choice.result)
      continue;
    // A scalar operand makes the operation compute in float32, but its result has the type of its tensors.
    builder.setInsertionPointAfter(op);
    auto rounded = CastOp::create(builder, op->getLoc(), tensor.clone(choice.result), result);
    result.replaceAllUsesExcept(rounded, rounded);
    original[rounded] = before;
    ++numCasts;
  }
}

/// Returns whether operands and results of an operation may change their types. Without a policy of its own, an
/// operation follows its only floating-point operand; others may have operands whose types must agree.
static bool hasPolicy(Operation *op) {
  auto isFloating = [](Type type) { return getFloatType(type) != nullptr; };
  return isa<AutocastOpInterface>(op) ||
         (isa<FusibleOpInterface>(op) && llvm::count_if(op->getOperandTypes(), isFloating) <= 1);
}

void Autocast::restoreResults(ArrayRef<unsigned> results) {
  Operation *terminator = block.getTerminator();
  for (unsigned index : results) {
    OpOperand &operand = terminator->getOpOperand(index);
    if (FloatType type = original.lookup(operand.get()))
      operand.set(getCast(operand.get(), type, terminator));
  }
}

void Autocast::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (!hasPolicy(&op)) {
      restoreOperands(&op);
      continue;
    }
    std::optional<Choice> choice = choose(&op);
    if (!choice)
      continue;
    if (choice->compute)
      castOperands(&op, choice->compute);
    setResults(&op, *choice);
  }
}

namespace {
class AutocastPass : public cs336::impl::AutocastPassBase<AutocastPass>, public CountingPass {
public:
  using AutocastPassBase::AutocastPassBase;

private:
  void runOnOperation() override;
  void allowTF32(func::FuncOp function);

  PassCounter numCasts{this, "num-casts", "Number of casts inserted"};
  PassCounter numTF32{this, "num-tf32", "Number of operations allowed to use tf32"};
};
} // namespace

void AutocastPass::allowTF32(func::FuncOp function) {
  int64_t numAllowed = 0;
  function.walk([&](AutocastOpInterface op) {
    bool isFloat32 = llvm::any_of(op->getOperandTypes(), [](Type type) {
      FloatType element = getFloatType(type);
      return element && element.isF32();
    });
    if (op.getAutocastPolicy() != AutocastPolicy::Low || !isFloat32)
      return;
    op.allowTF32();
    ++numAllowed;
  });
  numTF32 += numAllowed;
  remark::passed(function.getLoc(), autocastRemarks("TF32Allowed"))
      << remark::add("@{0}: {1} operations may round their inputs to tf32", function.getName(), numAllowed);
}

void AutocastPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  if (dtype == AutocastType::TF32)
    return allowTF32(function);
  if (hasResultOfKind(function, port::kGradient) || hasResultOfKind(function, port::kParameter)) {
    function.emitOpError() << "returns gradients or updated parameters already; casts must be inserted before "
                              "--cs336-differentiate, so that they have adjoints";
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "has several blocks; only straight-line functions are cast";
    return signalPassFailure();
  }
  FloatType low = dtype == AutocastType::BF16 ? FloatType(BFloat16Type::get(&getContext()))
                                              : FloatType(Float16Type::get(&getContext()));
  Block &block = function.getBody().front();
  Autocast autocast(block, low);
  autocast.run();
  // Their storage has the same type before and after a run.
  SmallVector<unsigned> variables;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (StringRef kind = getPortKind(function.getResultAttrDict(index)); kind == port::kState || kind == port::kDerived)
      variables.push_back(index);
  autocast.restoreResults(variables);
  numCasts += autocast.numCasts;
  function.setFunctionType(
      FunctionType::get(&getContext(), function.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  remark::passed(function.getLoc(), autocastRemarks("Cast"))
      << remark::add("@{0}: {1} casts inserted, so that operations compute in {2} or float32 as their policy requires",
                     function.getName(), autocast.numCasts, low.isBF16() ? "bf16" : "f16");
}
