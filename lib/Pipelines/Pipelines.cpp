//===- Pipelines.cpp - All passes in order --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Pipelines/Pipelines.h"

#include "cs336/Conversion/CS336ToExec/Passes.h"
#include "cs336/Dialect/CS336/Transforms/IndexPasses.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace cs336;

/// Lines of a cache, and what device allocations are aligned to.
static constexpr uint64_t kCPUAlignment = 64;
static constexpr uint64_t kCUDAAlignment = 256;

StringRef cs336::stringifyComputeType(ComputeType type) {
  switch (type) {
  case ComputeType::FP32:
    return "fp32";
  case ComputeType::TF32:
    return "tf32";
  case ComputeType::BF16:
    return "bf16";
  case ComputeType::FP16:
    return "fp16";
  }
  llvm_unreachable("every type has a name");
}

StringRef cs336::stringifyFusion(Fusion level) {
  switch (level) {
  case Fusion::None:
    return "none";
  case Fusion::Elementwise:
    return "elementwise";
  case Fusion::Softmax:
    return "softmax";
  case Fusion::Flash:
    return "flash";
  case Fusion::All:
    return "all";
  }
  llvm_unreachable("every level has a name");
}

llvm::cl::ValuesClass cs336::getComputeTypeValues() {
  auto value = [](ComputeType type, StringRef description) {
    return llvm::cl::OptionEnumValue{stringifyComputeType(type), static_cast<int>(type), description};
  };
  return {value(ComputeType::FP32, "none: the types that the program has"),
          value(ComputeType::TF32, "float32, whose products may round to tf32"),
          value(ComputeType::BF16, "autocast to bfloat16"), value(ComputeType::FP16, "autocast to float16")};
}

llvm::cl::ValuesClass cs336::getFusionValues() {
  auto value = [](Fusion level, StringRef description) {
    return llvm::cl::OptionEnumValue{stringifyFusion(level), static_cast<int>(level), description};
  };
  return {value(Fusion::None, "a kernel for each operation"),
          value(Fusion::Elementwise, "chains of pointwise operations and reductions of rows, and what products can do"),
          value(Fusion::Softmax, "and softmax, forward and backward"),
          value(Fusion::Flash, "and attention, whose scores are never stored"),
          value(Fusion::All, "every fusion that there is: at present what flash has")};
}

/// The options in a text, which spaces separate where they are not within quotes.
static SmallVector<StringRef> splitOptions(StringRef text) {
  SmallVector<StringRef> options;
  bool isQuoted = false;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    bool isEnd = i == text.size();
    isQuoted ^= !isEnd && (text[i] == '\'' || text[i] == '"');
    if (!isEnd && (isQuoted || text[i] != ' '))
      continue;
    if (i > begin)
      options.push_back(text.slice(begin, i));
    begin = i + 1;
  }
  return options;
}

llvm::Error PipelineOptions::read(StringRef text) {
  // LLVM's own errors in values go to the standard error stream, and list no names.
  for (StringRef option : splitOptions(text)) {
    auto [name, value] = option.split('=');
    const llvm::cl::Option *known = OptionsMap.lookup(name);
    if (!known) {
      SmallVector<StringRef> names(llvm::make_first_range(OptionsMap));
      llvm::sort(names);
      return llvm::createStringError(describeUnknown("option", name, names));
    }
    SmallVector<StringRef> choices;
    known->ValueStr.split(choices, '|');
    if (choices.size() > 1 && !llvm::is_contained(choices, value))
      return llvm::createStringError(describeUnknown(name, value, choices));
  }
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(parseFromString(text, stream)))
    return llvm::createStringError(message.empty() ? "a value has the wrong type" : StringRef(message).rtrim());
  return llvm::Error::success();
}

void cs336::addAutocast(OpPassManager &manager, ComputeType type) {
  auto add = [&](AutocastType to) { manager.addNestedPass<func::FuncOp>(createAutocastPass({to})); };
  switch (type) {
  case ComputeType::FP32:
    return;
  case ComputeType::TF32:
    return add(AutocastType::TF32);
  case ComputeType::BF16:
    return add(AutocastType::BF16);
  case ComputeType::FP16:
    return add(AutocastType::FP16);
  }
  llvm_unreachable("every type has a case");
}

static void addCleanup(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createCSEPass());
}

void cs336::buildPlanning(OpPassManager &manager, Target target) {
  if (target == Target::CUDA) {
    manager.addPass(exec::createCopiesToKernelsPass());
    // Before workspaces, of which a batch would want one for all.
    manager.addPass(createBatchLaunchesPass());
    manager.addPass(createAddWorkspacesPass());
  }
  manager.addNestedPass<exec::EntryOp>(
      exec::createPlanMemoryPass({target == Target::CUDA ? kCUDAAlignment : kCPUAlignment}));
}

/// By default programs whose operations all write their results drop large ones again, where that saves memory worth
/// the time: else they hold more than a framework does whose softmax is one operation.
static void addRecomputation(OpPassManager &manager, const PipelineOptions &options) {
  if (options.recomputePointwise.hasValue() ? options.recomputePointwise == 0 : options.fuses(Fusion::Elementwise))
    return;
  RecomputePointwisePassOptions chosen{/*minBytes=*/1 << 20, /*minSaving=*/0.05};
  if (options.recomputePointwise.hasValue())
    chosen = {options.recomputePointwise, /*minSaving=*/0};
  manager.addNestedPass<func::FuncOp>(createRecomputePointwisePass(chosen));
}

void cs336::buildPipeline(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createNamePortsPass({options.mode}));
  // Before composites with indices are decomposed.
  manager.addNestedPass<func::FuncOp>(createBoundIndicesPass());
  // Before autocast, whose casts would stand between scores and softmax; what it makes has a policy of its own.
  if (options.fuses(Fusion::Flash))
    manager.addNestedPass<func::FuncOp>(createFlashAttentionPass());
  // Before casts: a softmax is one operation to autocast's policy.
  if (options.fuses(Fusion::Softmax))
    manager.addNestedPass<func::FuncOp>(createFuseSoftmaxPass());
  addAutocast(manager, options.dtype);
  if (options.mergeGemms)
    manager.addPass(createMergeGemmsPass());
  if (options.dtype == ComputeType::FP16)
    manager.addNestedPass<func::FuncOp>(createScaleLossPass());
  manager.addNestedPass<func::FuncOp>(createDecomposePass());
  addCleanup(manager);
  manager.addNestedPass<func::FuncOp>(createDifferentiatePass());
  // On gradients, which the optimizer replaces by updates.
  if (options.checkpoint > 0)
    manager.addNestedPass<func::FuncOp>(createCheckpointPass({options.checkpoint}));
  addRecomputation(manager, options);
  manager.addNestedPass<func::FuncOp>(createOptimizerPass());
  // After the updates, which write the shadows.
  if (options.weightShadows && options.fuses(Fusion::Elementwise))
    manager.addPass(createWeightShadowsPass());
  addCleanup(manager);
  if (options.hoistInvariants)
    manager.addPass(createHoistInvariantsPass());
  if (options.fuseEpilogues && options.fuses(Fusion::Elementwise))
    manager.addNestedPass<func::FuncOp>(createFuseEpiloguesPass());
  if (options.fuses(Fusion::Elementwise))
    // After everything that makes or moves pointwise operations: groups are not looked into any more.
    manager.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  manager.addPass(createConvertCS336ToExecPass());
  buildPlanning(manager, options.target);
}

void cs336::registerPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "cs336-pipeline", "From a model's functions to planned entries: every pass, in order", buildPipeline);
}
