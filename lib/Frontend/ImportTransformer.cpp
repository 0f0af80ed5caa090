//===- ImportTransformer.cpp - A model description as IR ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Frontend/ImportTransformer.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace cs336;

static constexpr double kNormEpsilon = 1e-5;
/// Initial values are drawn again beyond this many standard deviations.
static constexpr double kInitCut = 3.0;

namespace {

/// An argument of the model's functions.
struct Port {
  std::string name;
  RankedTensorType type;
  DictionaryAttr attributes;
};

/// Builds one function after the other for one description.
class TransformerBuilder {
public:
  TransformerBuilder(const ModelDescription &description, OptimizerAttr optimizer, ModuleOp module)
      : config(description.transformer), optimizer(optimizer), module(module),
        builder(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())) {
    elementType = description.dtype == BuildType::F64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());
    declareParameters();
  }

  /// Builds a function named after its mode. Its body is the model up to the logits, or up to the loss.
  void buildFunction(Mode mode);

private:
  void declareParameters();
  void declareParameter(const Twine &name, ArrayRef<int64_t> shape, InitAttr init);
  void declareLinear(const Twine &name, int64_t out, int64_t in);

  Value buildLogits(Value tokens);
  Value buildAttention(const std::string &layer, Value x);
  Value buildFeedForward(const std::string &layer, Value x);
  Value buildHeads(const std::string &attention, StringRef projection, Value x);
  Value buildCausalMask(RankedTensorType scores);
  Value buildSoftmax(Value x);

  /// Sets the location of the following operations to `name` in the model.
  void at(const Twine &name) { builder.setLoc(NameLoc::get(builder.getStringAttr(name))); }
  RankedTensorType tensor(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, elementType); }
  Value splat(RankedTensorType type, double value) { return ConstantOp::create(builder, type, value); }

  Value linear(const Twine &name, Value x) {
    at(name);
    return LinearOp::create(builder, x, parameters.at((name + ".weight").str()));
  }
  Value norm(const Twine &name, Value x) {
    at(name);
    Value weight = parameters.at((name + ".weight").str());
    return RMSNormOp::create(builder, x.getType(), x, weight, builder.getF64FloatAttr(kNormEpsilon));
  }

  const TransformerConfig &config;
  OptimizerAttr optimizer;
  ModuleOp module;
  ImplicitLocOpBuilder builder;
  Type elementType;
  std::vector<Port> ports;
  /// Arguments of the current function, by state_dict name.
  llvm::StringMap<Value> parameters;
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void TransformerBuilder::declareParameter(const Twine &name, ArrayRef<int64_t> shape, InitAttr init) {
  std::string text = name.str();
  auto attributes = builder.getDictionaryAttr({
      builder.getNamedAttr(CS336Dialect::kKindAttr, builder.getStringAttr("parameter")),
      builder.getNamedAttr(CS336Dialect::kNameAttr, builder.getStringAttr(text)),
      builder.getNamedAttr(CS336Dialect::kInitAttr, init),
  });
  ports.push_back({std::move(text), tensor(shape), attributes});
}

void TransformerBuilder::declareLinear(const Twine &name, int64_t out, int64_t in) {
  double std = std::sqrt(2.0 / static_cast<double>(in + out));
  declareParameter(name + ".weight", {out, in},
                   InitAttr::get(builder.getContext(), InitKind::TruncatedNormal, std, kInitCut, 0.0));
}

void TransformerBuilder::declareParameters() {
  auto ones = InitAttr::get(builder.getContext(), InitKind::Ones, 0.0, 0.0, 0.0);
  auto normal = InitAttr::get(builder.getContext(), InitKind::TruncatedNormal, 1.0, kInitCut, 0.0);
  declareParameter("token_embeddings.weight", {config.vocabSize, config.dModel}, normal);
  for (int64_t i = 0; i < config.numLayers; ++i) {
    std::string layer = "layers." + std::to_string(i);
    for (StringRef projection : {"q_proj", "k_proj", "v_proj", "output_proj"})
      declareLinear(layer + ".attn." + projection, config.dModel, config.dModel);
    declareLinear(layer + ".ffn.w1", config.dFF, config.dModel);
    declareLinear(layer + ".ffn.w2", config.dModel, config.dFF);
    declareLinear(layer + ".ffn.w3", config.dFF, config.dModel);
    declareParameter(layer + ".ln1.weight", {config.dModel}, ones);
    declareParameter(layer + ".ln2.weight", {config.dModel}, ones);
  }
  declareParameter("ln_final.weight", {config.dModel}, ones);
  declareLinear("lm_head", config.vocabSize, config.dModel);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Projects [B, S, d] to [B, h, S, head_dim]: heads are the outer index of d.
Value TransformerBuilder::buildHeads(const std::string &attention, StringRef projection, Value x) {
  x = linear(attention + "." + projection, x);
  at(attention + ".split_heads");
  auto split = tensor({config.batchSize, config.contextLength, config.numHeads, config.getHeadDim()});
  x = ReshapeOp::create(builder, split, x);
  auto heads = tensor({config.batchSize, config.numHeads, config.contextLength, config.getHeadDim()});
  return TransposeOp::create(builder, heads, x, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
}

/// Builds the causal mask: query q sees key k if q >= k, for every batch and head.
Value TransformerBuilder::buildCausalMask(RankedTensorType scores) {
  auto positions = RankedTensorType::get(scores.getShape().take_back(2), builder.getI32Type());
  Value query = IotaOp::create(builder, positions, builder.getI64IntegerAttr(0));
  Value key = IotaOp::create(builder, positions, builder.getI64IntegerAttr(1));
  Value visible = CompareOp::create(builder, Predicate::GE, query, key);
  auto mask = scores.clone(builder.getI1Type());
  return BroadcastOp::create(builder, mask, visible, builder.getDenseI64ArrayAttr({2, 3}));
}

/// Builds exp(x - max) / sum(exp(x - max)) over the last axis of a tensor of rank 4.
Value TransformerBuilder::buildSoftmax(Value x) {
  RankedTensorType type = tensorType(x);
  RankedTensorType rows = tensor(type.getShape().drop_back());
  auto lastAxis = builder.getDenseI64ArrayAttr({3}), otherAxes = builder.getDenseI64ArrayAttr({0, 1, 2});
  // Like x.max(-1).values.detach(), this has no gradient: subtracting a number from a row does not change its softmax.
  Value max = ReduceOp::create(builder, rows, ReduceKind::Max, x, lastAxis, /*stop_gradient=*/true);
  max = BroadcastOp::create(builder, type, max, otherAxes);
  Value exponentials = ExpOp::create(builder, type, SubOp::create(builder, type, x, max));
  Value sum = ReduceOp::create(builder, rows, ReduceKind::Sum, exponentials, lastAxis);
  sum = BroadcastOp::create(builder, type, sum, otherAxes);
  return DivOp::create(builder, type, exponentials, sum);
}

Value TransformerBuilder::buildAttention(const std::string &layer, Value x) {
  std::string attention = layer + ".attn";
  Value queries = buildHeads(attention, "q_proj", x);
  Value keys = buildHeads(attention, "k_proj", x);
  Value values = buildHeads(attention, "v_proj", x);

  at(attention + ".rope");
  FloatAttr theta = builder.getF64FloatAttr(config.ropeTheta);
  queries = RoPEOp::create(builder, queries.getType(), queries, theta);
  keys = RoPEOp::create(builder, keys.getType(), keys, theta);

  at(attention + ".scores");
  Value scores = MatmulOp::create(builder, queries, keys, /*transposeA=*/false, /*transposeB=*/true);
  RankedTensorType type = tensorType(scores);
  at(attention + ".scale");
  double scale = 1.0 / std::sqrt(static_cast<double>(config.getHeadDim()));
  scores = MulOp::create(builder, type, scores, splat(type, scale));
  at(attention + ".mask");
  Value hidden = splat(type, -std::numeric_limits<double>::infinity());
  scores = SelectOp::create(builder, type, buildCausalMask(type), scores, hidden);
  at(attention + ".softmax");
  Value probabilities = buildSoftmax(scores);
  at(attention + ".values");
  Value output = MatmulOp::create(builder, probabilities, values, /*transposeA=*/false, /*transposeB=*/false);

  at(attention + ".merge_heads");
  auto split = tensor({config.batchSize, config.contextLength, config.numHeads, config.getHeadDim()});
  output = TransposeOp::create(builder, split, output, builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
  output = ReshapeOp::create(builder, x.getType(), output);
  return linear(attention + ".output_proj", output);
}

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

/// Builds SwiGLU: W2(silu(W1 x) · (W3 x)).
Value TransformerBuilder::buildFeedForward(const std::string &layer, Value x) {
  std::string ffn = layer + ".ffn";
  Value gate = linear(ffn + ".w1", x);
  at(ffn + ".silu");
  gate = SiluOp::create(builder, gate.getType(), gate);
  Value up = linear(ffn + ".w3", x);
  at(ffn + ".gate");
  Value gated = MulOp::create(builder, gate.getType(), gate, up);
  return linear(ffn + ".w2", gated);
}

Value TransformerBuilder::buildLogits(Value tokens) {
  at("token_embeddings");
  auto residual = tensor({config.batchSize, config.contextLength, config.dModel});
  Value x = EmbeddingOp::create(builder, residual, parameters.at("token_embeddings.weight"), tokens);
  for (int64_t i = 0; i < config.numLayers; ++i) {
    std::string layer = "layers." + std::to_string(i);
    Value attended = buildAttention(layer, norm(layer + ".ln1", x));
    at(layer + ".attn.residual");
    x = AddOp::create(builder, residual, x, attended);
    Value fed = buildFeedForward(layer, norm(layer + ".ln2", x));
    at(layer + ".ffn.residual");
    x = AddOp::create(builder, residual, x, fed);
  }
  return linear("lm_head", norm("ln_final", x));
}

void TransformerBuilder::buildFunction(Mode mode) {
  MLIRContext *context = builder.getContext();
  bool hasLoss = mode != Mode::Forward;

  SmallVector<Port> arguments(ports.begin(), ports.end());
  auto ids = RankedTensorType::get({config.batchSize, config.contextLength}, builder.getI64Type());
  auto declareInput = [&](StringRef name) {
    auto attributes = builder.getDictionaryAttr({
        builder.getNamedAttr(CS336Dialect::kKindAttr, builder.getStringAttr("input")),
        builder.getNamedAttr(CS336Dialect::kNameAttr, builder.getStringAttr(name)),
        builder.getNamedAttr(CS336Dialect::kBoundAttr, builder.getI64IntegerAttr(config.vocabSize)),
    });
    arguments.push_back({name.str(), ids, attributes});
  };
  declareInput("tokens");
  if (hasLoss)
    declareInput("targets");

  auto result = hasLoss ? tensor({}) : tensor({config.batchSize, config.contextLength, config.vocabSize});
  auto types = llvm::map_to_vector(arguments, [](const Port &port) -> Type { return port.type; });
  auto attributes = llvm::map_to_vector(arguments, [](const Port &port) { return port.attributes; });
  StringRef name = stringifyMode(mode);
  at(name);
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, name, builder.getFunctionType(types, {result}));
  function.setAllArgAttrs(attributes);
  function.setResultAttr(0, CS336Dialect::kKindAttr, builder.getStringAttr("output"));
  function.setResultAttr(0, CS336Dialect::kNameAttr, builder.getStringAttr(hasLoss ? "loss" : "logits"));
  function->setAttr(CS336Dialect::kModeAttr, ModeAttr::get(context, mode));
  if (mode == Mode::Train)
    function->setAttr(CS336Dialect::kOptimizerAttr, optimizer);

  Block *body = builder.createBlock(&function.getBody());
  parameters.clear();
  for (const Port &port : arguments)
    parameters[port.name] = body->addArgument(port.type, NameLoc::get(builder.getStringAttr(port.name)));

  Value value = buildLogits(parameters.at("tokens"));
  if (hasLoss) {
    at("loss");
    value = CrossEntropyOp::create(builder, result, value, parameters.at("targets"));
  }
  func::ReturnOp::create(builder, value);
}

FailureOr<OwningOpRef<ModuleOp>> cs336::importTransformer(const ModelDescription &description, Location loc) {
  if (llvm::Error error = description.transformer.verify()) {
    emitError(loc) << llvm::toString(std::move(error));
    return failure();
  }
  OptimizerAttr optimizer =
      description.optimizer.getAttr([&] { return emitError(loc) << "optimizer: "; }, loc.getContext());
  if (!optimizer)
    return failure();

  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  TransformerBuilder builder(description, optimizer, *module);
  switch (description.mode) {
  case Mode::Train:
    // Held-out loss and sampling use the parameters that training updates.
    builder.buildFunction(Mode::Train);
    builder.buildFunction(Mode::Loss);
    builder.buildFunction(Mode::Forward);
    break;
  case Mode::Forward:
  case Mode::Loss:
  case Mode::ForwardBackward:
    builder.buildFunction(description.mode);
    break;
  case Mode::Prepare:
    emitError(loc) << "passes create mode 'prepare'; build forward, loss, forward_backward or train";
    return failure();
  }
  return module;
}
