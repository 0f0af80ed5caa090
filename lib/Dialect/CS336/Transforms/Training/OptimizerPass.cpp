//===- OptimizerPass.cpp - Gradients to updates ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientStatistics.h"
#include "LearningRate.h"
#include "LossScaling.h"
#include "WidenedGradient.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace cs336 {
#define GEN_PASS_DEF_OPTIMIZERPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions optimizerRemarks("cs336-optimizer");

static constexpr StringLiteral kStepName = "adamw.step";
static constexpr StringLiteral kFirstMomentPrefix = "adamw.m.";
static constexpr StringLiteral kSecondMomentPrefix = "adamw.v.";

/// Moments and scalars are computed in this type: float64 for float64, else float32.
static FloatType getComputeType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  return elementType.isF64() ? FloatType(Float64Type::get(context)) : FloatType(Float32Type::get(context));
}

static ArrayAttr prefixViews(ArrayAttr views, StringRef prefix) {
  if (!views)
    return nullptr;
  SmallVector<Attribute> prefixed;
  for (auto view : views.getAsRange<ViewAttr>()) {
    std::string name = (prefix + view.getName()).str();
    prefixed.push_back(ViewAttr::get(views.getContext(), name, view.getRows()));
  }
  return ArrayAttr::get(views.getContext(), prefixed);
}

namespace {
/// A parameter with its gradient.
struct Update {
  BlockArgument parameter;
  Value gradient;
  StringRef name;
  ArrayAttr views;
  /// The number of parts of a sharded parameter, of which this function updates one.
  int64_t shards;
};

/// A result with the attributes that describe it.
struct Result {
  Value value;
  DictionaryAttr port;
};

/// The scalars that all updates of one compute type share.
struct UpdateScalars {
  Value lr, correction1, correction2, scale;
};

/// Rewrites one train function.
class AdamWBuilder {
public:
  AdamWBuilder(func::FuncOp function, OptimizerAttr optimizer)
      : function(function), optimizer(optimizer), terminator(function.getBody().front().getTerminator()),
        b(location("adamw"), terminator) {}

  LogicalResult run();

  int64_t numUpdates = 0;

private:
  MLIRContext *context() { return function.getContext(); }
  Location location(StringRef name) {
    return inPhase(Phase::Optimizer, NameLoc::get(StringAttr::get(function.getContext(), name)));
  }
  LogicalResult collectUpdates();
  /// Adds an argument of state that starts as zeros.
  BlockArgument addState(RankedTensorType type, StringRef name, ArrayAttr views = nullptr, int64_t shards = 1);
  void addResult(Value value, StringRef kind, StringRef name, ArrayAttr views = nullptr, int64_t shards = 1) {
    results.push_back({value, makePort(context(), kind, name, views, /*init=*/nullptr, shards)});
  }
  LogicalResult clipAndUnscale(Value step, Value next);
  const UpdateScalars &getScalars(FloatType type);
  void buildUpdate(const Update &update);
  void setResults();

  func::FuncOp function;
  OptimizerAttr optimizer;
  Operation *terminator;
  ImplicitLocOpBuilder b;

  SmallVector<Update> updates;
  SmallVector<Result> results;
  SmallVector<Type> stateTypes;
  SmallVector<DictionaryAttr> statePorts;
  Value apply, lr, correction1, correction2, scale;
  DenseMap<Type, UpdateScalars> scalars;
};
} // namespace

/// Returns the number of ranks by which squares of gradients are added: that of the ranks that run the function, or 1
/// for more than eight. The norm of replicated gradients then has no kernel for each rank, and other bits than that of
/// sharded ones.
static int64_t countRanks(func::FuncOp function) {
  constexpr int64_t kMostRanks = 8;
  int64_t ranks = 1;
  function.walk([&](CollectiveOp collective) { ranks = std::max<int64_t>(ranks, collective.getGroup()); });
  return ranks <= kMostRanks ? ranks : 1;
}

LogicalResult AdamWBuilder::collectUpdates() {
  llvm::StringMap<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr port = function.getArgAttrDict(argument.getArgNumber());
    if (getPortKind(port) == port::kParameter)
      arguments.try_emplace(getPortName(port), argument);
  }
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr port = function.getResultAttrDict(index);
    StringRef name = getPortName(port);
    if (getPortKind(port) != port::kGradient) {
      results.push_back({value, port ? port : DictionaryAttr::get(context())});
      continue;
    }
    BlockArgument argument = arguments.lookup(name);
    int64_t shards = getPortShards(port);
    if (!argument || argument.getType() != value.getType() ||
        getPortShards(function.getArgAttrDict(argument.getArgNumber())) != shards)
      return function.emitOpError() << "returns a gradient called '" << name
                                    << "', but has no parameter with that name, type and number of shards";
    // Updates compute in float32 or wider in any case, and a narrow gradient takes fewer bytes to read.
    updates.push_back({argument, skipExtension(value), name, getPortViews(port), shards});
  }
  return success();
}

BlockArgument AdamWBuilder::addState(RankedTensorType type, StringRef name, ArrayAttr views, int64_t shards) {
  stateTypes.push_back(type);
  statePorts.push_back(
      makePort(context(), port::kState, name, views, InitAttr::get(context(), InitKind::Zeros, 0.0, 0.0, 0.0), shards));
  return function.getBody().addArgument(type, location(name));
}

/// Builds the values that all updates share: the factor of the gradients, and the condition for an update, after which
/// `step` becomes `next`.
LogicalResult AdamWBuilder::clipAndUnscale(Value step, Value next) {
  FailureOr<Value> found = findLossScale(function);
  if (failed(found))
    return failure();
  Value lossScale = *found;
  auto constantLike = [&](Value value, double number) -> Value {
    return ConstantOp::create(b, tensorType(value), number);
  };
  GradientStatistics statistics;
  statistics.ranks = countRanks(function);
  statistics.wantsNorm = optimizer.getMaxNorm() > 0 && !updates.empty();
  statistics.wantsFinite = lossScale && !updates.empty();
  if (lossScale)
    scale = statistics.factor = DivOp::create(b, constantLike(lossScale, 1.0), lossScale);
  SmallVector<LocatedGradient> gradients;
  for (const Update &update : updates)
    gradients.push_back({update.gradient, location(update.name), update.shards});
  statistics.build(b, gradients, location("grad_norm"));

  if (Value norm = statistics.norm) {
    if (findResult(function, port::kOutput, "grad_norm"))
      return function.emitOpError() << "returns an output called 'grad_norm', which is the name of the norm of all "
                                       "gradients, by which max_norm clips them: give the output another name";
    // The factor min(1, M / (‖g‖₂ + 1e-6)), and the inverse of the loss scale.
    addResult(norm, port::kOutput, "grad_norm");
    Value factor =
        DivOp::create(b, constantLike(norm, optimizer.getMaxNorm()), AddOp::create(b, norm, constantLike(norm, 1e-6)));
    Value clip = MinOp::create(b, factor, constantLike(norm, 1.0));
    scale = lossScale ? MulOp::create(b, clip, convertElements(b, scale, tensorType(norm).getElementType())) : clip;
  }
  if (!statistics.isFinite) {
    addResult(next, port::kState, kStepName);
    return success();
  }
  apply = statistics.isFinite;
  Value tracker = addState(RankedTensorType::get({}, b.getI32Type()), state::kGrowthTracker);
  auto scaling = function->getAttrOfType<LossScalingAttr>(CS336Dialect::kLossScalingAttr);
  ScaledStep after = buildNextStep(b, apply, {lossScale, tracker, step, next}, scaling);
  addResult(after.scale, port::kState, state::kLossScale);
  addResult(after.growthTracker, port::kState, state::kGrowthTracker);
  addResult(after.step, port::kState, kStepName);
  return success();
}

const UpdateScalars &AdamWBuilder::getScalars(FloatType type) {
  auto [entry, isNew] = scalars.try_emplace(type);
  if (isNew) {
    ImplicitLocOpBuilder::InsertionGuard guard(b);
    Location loc = b.getLoc();
    b.setLoc(location("adamw"));
    // An initializer list in braces is evaluated in order.
    entry->second = {convertElements(b, lr, type), convertElements(b, correction1, type),
                     convertElements(b, correction2, type), convertElements(b, scale, type)};
    b.setLoc(loc);
  }
  return entry->second;
}

void AdamWBuilder::buildUpdate(const Update &update) {
  b.setLoc(location(update.name));
  RankedTensorType type = tensorType(update.parameter);
  FloatType compute = getComputeType(type.getElementType());
  RankedTensorType momentType = type.clone(compute);
  std::string mName = (kFirstMomentPrefix + update.name).str(), vName = (kSecondMomentPrefix + update.name).str();
  ArrayAttr mViews = prefixViews(update.views, kFirstMomentPrefix);
  ArrayAttr vViews = prefixViews(update.views, kSecondMomentPrefix);
  Value m = addState(momentType, mName, mViews, update.shards), v = addState(momentType, vName, vViews, update.shards);

  const UpdateScalars &s = getScalars(compute);
  auto real = [&](double value) { return b.getF64FloatAttr(value); };
  auto adamw = AdamWOp::create(b, type, momentType, momentType, update.parameter, update.gradient, m, v, s.lr,
                               s.correction1, s.correction2, s.scale, apply, real(optimizer.getBeta1()),
                               real(optimizer.getBeta2()), real(optimizer.getEps()), real(optimizer.getWeightDecay()),
                               AdamWFormAttr::get(context(), optimizer.getForm()));
  addResult(adamw.getNewParameter(), port::kParameter, update.name, update.views, update.shards);
  addResult(adamw.getNewM(), port::kState, mName, mViews, update.shards);
  addResult(adamw.getNewV(), port::kState, vName, vViews, update.shards);
  ++numUpdates;
}

void AdamWBuilder::setResults() {
  SmallVector<Value> values;
  SmallVector<Attribute> ports;
  for (const Result &result : results) {
    values.push_back(result.value);
    ports.push_back(result.port);
  }
  terminator->setOperands(values);
  SmallVector<Attribute> arguments;
  for (unsigned index = 0, count = function.getNumArguments(); index < count; ++index) {
    DictionaryAttr port = function.getArgAttrDict(index);
    arguments.push_back(port ? port : DictionaryAttr::get(context()));
  }
  arguments.append(statePorts.begin(), statePorts.end());

  SmallVector<Type> argumentTypes(function.getArgumentTypes());
  argumentTypes.append(stateTypes);
  function.setFunctionType(FunctionType::get(context(), argumentTypes, ValueRange(values).getTypes()));
  function.setArgAttrsAttr(ArrayAttr::get(context(), arguments));
  function.setResAttrsAttr(ArrayAttr::get(context(), ports));
}

LogicalResult AdamWBuilder::run() {
  if (failed(collectUpdates()))
    return failure();

  Value step = addState(RankedTensorType::get({}, b.getI64Type()), kStepName);
  auto scalarType = RankedTensorType::get({}, b.getF64Type());
  Value next = AddOp::create(b, step, ConstantOp::create(b, tensorType(step), 1.0));
  Value t = CastOp::create(b, scalarType, next);
  lr = buildLearningRate(b, CastOp::create(b, scalarType, step), optimizer);
  correction1 = buildBiasCorrection(b, t, optimizer.getBeta1());
  correction2 = buildBiasCorrection(b, t, optimizer.getBeta2());
  apply = ConstantOp::create(b, RankedTensorType::get({}, b.getI1Type()), 1.0);
  scale = ConstantOp::create(b, scalarType, 1.0);
  if (failed(clipAndUnscale(step, next)))
    return failure();
  for (const Update &update : updates)
    buildUpdate(update);
  setResults();
  return success();
}

namespace {
class OptimizerPass : public cs336::impl::OptimizerPassBase<OptimizerPass>, public CountingPass {
public:
  using OptimizerPassBase::OptimizerPassBase;

private:
  void runOnOperation() override;
  FailureOr<OptimizerAttr> getOptimizer(func::FuncOp function);

  PassCounter numUpdates{this, "num-updates", "Number of parameters updated"};
};
} // namespace

/// Returns the function's attribute, with its fields replaced by the options that were given.
FailureOr<OptimizerAttr> OptimizerPass::getOptimizer(func::FuncOp function) {
  auto attribute = function->getAttrOfType<OptimizerAttr>(CS336Dialect::kOptimizerAttr);
  auto choose = [&](auto &option, auto getField) {
    using Field = decltype(getField(attribute));
    return option.hasValue() || !attribute ? Field(option.getValue()) : getField(attribute);
  };
  auto emitError = [&] { return function.emitOpError("has an impossible optimizer: "); };
  auto chosen = OptimizerAttr::getChecked(
      emitError, &getContext(), choose(form, std::mem_fn(&OptimizerAttr::getForm)),
      choose(lr, std::mem_fn(&OptimizerAttr::getLr)), choose(beta1, std::mem_fn(&OptimizerAttr::getBeta1)),
      choose(beta2, std::mem_fn(&OptimizerAttr::getBeta2)), choose(eps, std::mem_fn(&OptimizerAttr::getEps)),
      choose(weightDecay, std::mem_fn(&OptimizerAttr::getWeightDecay)),
      choose(maxNorm, std::mem_fn(&OptimizerAttr::getMaxNorm)),
      choose(warmupSteps, std::mem_fn(&OptimizerAttr::getWarmupSteps)),
      choose(cosineSteps, std::mem_fn(&OptimizerAttr::getCosineSteps)),
      choose(minLR, std::mem_fn(&OptimizerAttr::getMinLr)));
  if (!chosen)
    return failure();
  return chosen;
}

void OptimizerPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal() || getMode(function) != Mode::Train || findArgument(function, port::kState, kStepName))
    return;
  if (!hasResultOfKind(function, port::kGradient)) {
    function.emitOpError() << "returns no gradients to update parameters with; run --cs336-differentiate first";
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "has several blocks; only straight-line functions are updated";
    return signalPassFailure();
  }
  if (findArgument(function, port::kState, state::kLossScale) && !function->hasAttr(CS336Dialect::kLossScalingAttr)) {
    function.emitOpError() << "takes '" << state::kLossScale << "', but no " << CS336Dialect::kLossScalingAttr
                           << " describes its updates; --cs336-scale-loss adds both";
    return signalPassFailure();
  }
  FailureOr<OptimizerAttr> optimizer = getOptimizer(function);
  if (failed(optimizer))
    return signalPassFailure();
  AdamWBuilder builder(function, *optimizer);
  if (failed(builder.run()))
    return signalPassFailure();
  function->setAttr(CS336Dialect::kOptimizerAttr, *optimizer);
  numUpdates += builder.numUpdates;
  remark::passed(function.getLoc(), optimizerRemarks("Updated"))
      << remark::add("@{0}: AdamW updates {1} parameters{2}", function.getName(), builder.numUpdates,
                     optimizer->getMaxNorm() > 0 ? ", with gradients clipped by their common norm" : "");
}
