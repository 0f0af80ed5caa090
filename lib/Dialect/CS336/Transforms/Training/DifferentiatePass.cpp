//===- DifferentiatePass.cpp - Reverse mode -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossScaling.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/Transforms/RegionUtils.h"

namespace cs336 {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions differentiateRemarks("cs336-differentiate");

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

namespace {
/// Remembers the operations that a builder creates, in order, and marks them as part of the backward pass on request.
class Recorder : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (isBackward)
      op->setLoc(inPhase(Phase::Backward, op->getLoc()));
    made.push_back(op);
  }

  bool isBackward = true;
  SmallVector<Operation *> made;
};

/// Reverse mode over one block.
class ReverseMode {
public:
  ReverseMode(func::FuncOp function, ArrayRef<BlockArgument> parameters);

  /// Walks from `loss`, a float tensor of rank 0, to the block's start. Computes the gradients of loss·`scale`; a null
  /// scale is 1.
  LogicalResult run(Value loss, Value scale);
  /// Returns the gradient of a value after `run`, or null if the loss does not depend on it.
  Value getGradient(Value value) const { return gradients.lookup(value); }
  /// Erases unused new operations. Returns their number.
  int64_t eraseUnused();

  int64_t numAdjoints = 0;

private:
  /// Returns a parameter that `op` depends on, directly or in its regions, or null.
  BlockArgument findParameter(Operation &op) const;
  void markDependence(Operation &op);
  void accumulate(Value value, Value gradient, Location loc);
  LogicalResult visit(Operation *op);
  LogicalResult decompose(DecomposableOpInterface op);

  Block &block;
  Recorder recorder;
  OpBuilder builder;
  /// One parameter for each value that depends on parameters.
  DenseMap<Value, BlockArgument> dependsOn;
  DenseMap<Value, Value> gradients;
};
} // namespace

ReverseMode::ReverseMode(func::FuncOp function, ArrayRef<BlockArgument> parameters)
    : block(function.getBody().front()), builder(function.getContext(), &recorder) {
  for (BlockArgument parameter : parameters)
    dependsOn[parameter] = parameter;
  for (Operation &op : block)
    markDependence(op);
  builder.setInsertionPoint(block.getTerminator());
}

BlockArgument ReverseMode::findParameter(Operation &op) const {
  for (Value operand : op.getOperands())
    if (BlockArgument parameter = dependsOn.lookup(operand))
      return parameter;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  for (Value value : captured)
    if (BlockArgument parameter = dependsOn.lookup(value))
      return parameter;
  return nullptr;
}

void ReverseMode::markDependence(Operation &op) {
  if (BlockArgument parameter = findParameter(op))
    for (Value result : op.getResults())
      if (isFloat(result))
        dependsOn[result] = parameter;
}

void ReverseMode::accumulate(Value value, Value gradient, Location loc) {
  auto [entry, isFirst] = gradients.try_emplace(value, gradient);
  if (!isFirst)
    entry->second = AddOp::create(builder, loc, entry->second, gradient);
}

LogicalResult ReverseMode::run(Value loss, Value scale) {
  if (!dependsOn.contains(loss))
    return success();
  // New operations are behind the last forward operation, so the walk never meets them.
  Operation *op = block.getTerminator()->getPrevNode();
  auto type = cast<RankedTensorType>(loss.getType());
  if (!scale)
    gradients[loss] = ConstantOp::create(builder, loss.getLoc(), type, 1.0);
  else
    gradients[loss] = scale.getType() == type ? scale : CastOp::create(builder, loss.getLoc(), type, scale);

  while (op) {
    bool hasGradient = llvm::any_of(op->getResults(), [&](Value result) { return gradients.contains(result); });
    if (!hasGradient) {
      op = op->getPrevNode();
      continue;
    }
    auto composite = dyn_cast<DecomposableOpInterface>(op);
    if (composite && !isa<DifferentiableOpInterface>(op)) {
      // The primitives are at the composite's position, and are visited next.
      Operation *next = op->getNextNode();
      if (failed(decompose(composite)))
        return failure();
      op = next->getPrevNode();
      continue;
    }
    if (failed(visit(op)))
      return failure();
    op = op->getPrevNode();
  }
  return success();
}

LogicalResult ReverseMode::decompose(DecomposableOpInterface op) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  recorder.isBackward = false;
  size_t before = recorder.made.size();
  FailureOr<SmallVector<Value>> values = op.decompose(builder);
  recorder.isBackward = true;
  if (failed(values))
    return op->emitOpError() << "cannot be decomposed and has no adjoint";
  for (Operation *primitive : ArrayRef(recorder.made).drop_front(before))
    markDependence(*primitive);
  // These are forward operations now, which this pass does not erase even if they are unused.
  recorder.made.truncate(before);

  for (auto [result, value] : llvm::zip_equal(op->getResults(), *values)) {
    if (Value gradient = gradients.lookup(result)) {
      gradients.erase(result);
      accumulate(value, gradient, inPhase(Phase::Backward, op->getLoc()));
    }
  }
  op->replaceAllUsesWith(*values);
  for (Value result : op->getResults())
    dependsOn.erase(result);
  op->erase();
  return success();
}

LogicalResult ReverseMode::visit(Operation *op) {
  BlockArgument parameter = findParameter(*op);
  if (!parameter)
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable) {
    auto function = cast<func::FuncOp>(block.getParentOp());
    return op->emitOpError()
           << "is between parameter '" << getPortName(function.getArgAttrDict(parameter.getArgNumber()))
           << "' and the loss, but has no adjoint: it must implement DifferentiableOpInterface or "
              "DecomposableOpInterface. Fused operations have no adjoint, so run passes that fuse after "
              "cs336-differentiate";
  }

  SmallVector<Value> resultGradients, operandGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (failed(differentiable.buildAdjoint(builder, resultGradients, operandGradients)))
    return op->emitOpError() << "could not build its adjoint";
  ++numAdjoints;
  if (operandGradients.size() != op->getNumOperands())
    return op->emitOpError() << "built " << operandGradients.size() << " gradients for " << op->getNumOperands()
                             << " operands";
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
    if (!gradient || !dependsOn.contains(operand))
      continue;
    if (gradient.getType() != operand.getType())
      return op->emitOpError() << "built a gradient of type " << gradient.getType() << " for an operand of type "
                               << operand.getType();
    accumulate(operand, gradient, op->getLoc());
  }
  return success();
}

int64_t ReverseMode::eraseUnused() {
  int64_t numErased = 0;
  for (Operation *op : llvm::reverse(recorder.made))
    if (isOpTriviallyDead(op)) {
      op->erase();
      ++numErased;
    }
  return numErased;
}

namespace {
class DifferentiatePass : public cs336::impl::DifferentiatePassBase<DifferentiatePass>, public CountingPass {
  void runOnOperation() override;
  LogicalResult differentiate(func::FuncOp function);

  PassCounter numAdjoints{this, "num-adjoints", "Number of adjoints built"};
  PassCounter numGradients{this, "num-gradients", "Number of gradients returned"};
  PassCounter numErased{this, "num-erased", "Number of backward operations erased because unused"};
};
} // namespace

void DifferentiatePass::runOnOperation() {
  func::FuncOp function = getOperation();
  std::optional<Mode> mode = getMode(function);
  bool wantsGradients = mode == Mode::ForwardBackward || mode == Mode::Train;
  bool isUpdated = hasResultOfKind(function, port::kParameter);
  if (function.isExternal() || !wantsGradients || isUpdated || hasResultOfKind(function, port::kGradient))
    return;
  if (failed(differentiate(function)))
    signalPassFailure();
}

LogicalResult DifferentiatePass::differentiate(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "has several blocks; only straight-line functions are differentiated";
  std::optional<unsigned> lossIndex = findResult(function, port::kOutput, "loss");
  if (!lossIndex)
    return function.emitOpError() << "has no output called \"loss\" to differentiate";
  Operation *terminator = function.getBody().front().getTerminator();
  Value loss = terminator->getOperand(*lossIndex);
  if (!isFloat(loss) || cast<RankedTensorType>(loss.getType()).getRank() != 0)
    return function.emitOpError() << "the loss must be a floating-point tensor of rank 0, is " << loss.getType();

  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : function.getArguments())
    if (getPortKind(function.getArgAttrDict(argument.getArgNumber())) == port::kParameter && isFloat(argument))
      parameters.push_back(argument);

  ReverseMode reverse(function, parameters);
  FailureOr<Value> scale = findLossScale(function);
  if (failed(scale) || failed(reverse.run(loss, *scale)))
    return failure();

  SmallVector<Value> results(terminator->getOperands());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> ports;
  OpBuilder builder(terminator);
  for (BlockArgument parameter : parameters) {
    DictionaryAttr attributes = function.getArgAttrDict(parameter.getArgNumber());
    StringRef name = getPortName(attributes);
    Value gradient = reverse.getGradient(parameter);
    if (!gradient) {
      remark::missed(parameter.getLoc(), differentiateRemarks("NoGradient"))
          << remark::add("the loss does not depend on parameter '{0}': its gradient is zero", name.str());
      gradient = ConstantOp::create(builder, inPhase(Phase::Backward, parameter.getLoc()),
                                    cast<RankedTensorType>(parameter.getType()), 0.0);
    }
    results.push_back(gradient);
    types.push_back(parameter.getType());
    ports.push_back(makePort(&getContext(), port::kGradient, name, getPortViews(attributes)));
  }
  SmallVector<unsigned> indices(types.size(), function.getNumResults());
  if (failed(function.insertResults(indices, types, ports)))
    return failure();
  terminator->setOperands(results);

  numAdjoints += reverse.numAdjoints;
  numGradients += parameters.size();
  numErased += reverse.eraseUnused();
  return success();
}
