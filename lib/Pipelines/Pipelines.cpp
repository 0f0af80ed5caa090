//===- Pipelines.cpp - All passes in order --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Pipelines/Pipelines.h"

#include "cs336/Conversion/CS336ToExec/Passes.h"
#include "cs336/Cost/DeviceModel.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Pipelines/Differentiation.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336;

/// Size of a cache line, and alignment of device allocations, in bytes.
static constexpr uint64_t kCPUAlignment = 64;
static constexpr uint64_t kCUDAAlignment = 256;

/// The most bytes of factors per byte of a gradient for which a fused update pays
/// (docs/Rationale/FactorsOfGradients.md). The links are busier in mode fsdp, whose backward pass also gathers
/// parameters.
static constexpr double kFactors = 2.5, kFactorsOfFSDP = 2;

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

StringRef cs336::stringifyDistributeMode(DistributeMode mode) {
  switch (mode) {
  case DistributeMode::PerParameter:
    return "per-parameter";
  case DistributeMode::Flat:
    return "flat";
  case DistributeMode::Overlap:
    return "overlap";
  case DistributeMode::Bucket:
    return "bucket";
  case DistributeMode::Zero1:
    return "zero1";
  case DistributeMode::FSDP:
    return "fsdp";
  }
  llvm_unreachable("every mode has a name");
}

llvm::cl::ValuesClass cs336::getDistributeValues() {
  auto value = [](DistributeMode mode, StringRef description) {
    return llvm::cl::OptionEnumValue{stringifyDistributeMode(mode), static_cast<int>(mode), description};
  };
  return {value(DistributeMode::PerParameter, "one collective per gradient, after the backward pass"),
          value(DistributeMode::Flat, "one collective of all gradients, after the backward pass"),
          value(DistributeMode::Overlap, "one collective per gradient, as soon as it is ready"),
          value(DistributeMode::Bucket, "one collective per bucket, as soon as its last gradient is ready"),
          value(DistributeMode::Zero1, "ranks store parts of parameters and state, and gather them once per step"),
          value(DistributeMode::FSDP, "as zero1, and the backward pass gathers parameters again")};
}

llvm::cl::ValuesClass cs336::getComputeTypeValues() {
  auto value = [](ComputeType type, StringRef description) {
    return llvm::cl::OptionEnumValue{stringifyComputeType(type), static_cast<int>(type), description};
  };
  return {value(ComputeType::FP32, "none: the types that the program has"),
          value(ComputeType::TF32, "float32, whose GEMMs may round to tf32"),
          value(ComputeType::BF16, "autocast to bfloat16"), value(ComputeType::FP16, "autocast to float16")};
}

llvm::cl::ValuesClass cs336::getFusionValues() {
  auto value = [](Fusion level, StringRef description) {
    return llvm::cl::OptionEnumValue{stringifyFusion(level), static_cast<int>(level), description};
  };
  return {
      value(Fusion::None, "one kernel per operation"),
      value(Fusion::Elementwise, "fuse chains of element-wise operations and row reductions, and epilogues of GEMMs"),
      value(Fusion::Softmax, "also fuse softmax, forward and backward"),
      value(Fusion::Flash, "also fuse attention, which then never stores scores"),
      value(Fusion::All, "all fusions; at present the same as flash")};
}

llvm::Error PipelineOptions::read(StringRef text) {
  // LLVM's own errors in values go to the standard error stream, and list no names.
  for (StringRef option : splitPipelineOptions(text)) {
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

/// Adds the passes of one option.
static LogicalResult addExtra(OpPassManager &manager, const ExtraPasses &extra, PipelineError error) {
  if (extra.getValue().empty())
    return success();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (succeeded(parsePassPipeline(extra.getValue(), manager, stream)))
    return success();
  return error("the option " + extra.getArgStr() +
               " of the pipeline is not a list of passes: " + StringRef(message).rtrim());
}

static bool fusesUpdates(const PipelineOptions &options) {
  return options.target == Target::CUDA && options.fuseUpdates && options.fuses(Fusion::Elementwise);
}

LogicalResult cs336::buildPlanning(OpPassManager &manager, const PipelineOptions &options, PipelineError error) {
  bool isCUDA = options.target == Target::CUDA;
  if (!isCUDA && !options.tunedSchedules.empty())
    return error(
        "the option tuned-schedules of the pipeline requires target=cuda: the CPU's kernels have no schedules");
  manager.addPass(exec::createGatherInPlacePass());
  if (isCUDA) {
    manager.addPass(exec::createCopiesToKernelsPass());
    if (fusesUpdates(options)) {
      manager.addPass(exec::createSplitUpdatesPass());
      manager.addPass(createFuseUpdatesPass());
      manager.addPass(createReadOwnFactorsPass());
    }
  }
  // Runs after updates have moved, and before launches are batched, which would delay the gathers. A CPU session does
  // one command at a time.
  exec::GatherAheadPassOptions ahead;
  ahead.percent = options.gatherAhead.hasValue() ? options.gatherAhead : isCUDA ? 100 : 0;
  manager.addPass(exec::createGatherAheadPass(ahead));
  if (isCUDA) {
    // Runs before workspaces are added, because a batch has a single workspace.
    manager.addPass(createBatchLaunchesPass());
    // Runs before workspaces are added, because their sizes depend on the schedules.
    SelectSchedulesPassOptions selection;
    selection.tuned = options.tunedSchedules;
    manager.addPass(createSelectSchedulesPass(std::move(selection)));
    manager.addPass(createAddWorkspacesPass());
  }
  uint64_t alignment = isCUDA ? kCUDAAlignment : kCPUAlignment;
  // Runs after launches are batched, which needs buffers that share no storage.
  manager.addNestedPass<exec::EntryOp>(exec::createPackBucketsPass({alignment}));
  if (isCUDA) {
    // Runs after launches have moved, which events stop, and before the plan, which follows events. A CPU session runs
    // its commands in order on one team of threads, where streams would take memory and save no time.
    manager.addNestedPass<exec::EntryOp>(exec::createAssignStreamsPass());
  }
  manager.addNestedPass<exec::EntryOp>(exec::createPlanMemoryPass({alignment}));
  return addExtra(manager, options.extraAfterPlanning, error);
}

/// Adds recomputation. Without fusion every operation stores its result. By default such programs recompute large
/// results if that saves enough memory: otherwise they would need more memory than a framework whose softmax is one
/// operation.
static void addRecomputation(OpPassManager &manager, const PipelineOptions &options) {
  if (options.recomputePointwise.hasValue() ? options.recomputePointwise == 0 : options.fuses(Fusion::Elementwise))
    return;
  RecomputePointwisePassOptions chosen{/*minBytes=*/1 << 20, /*minSaving=*/0.05};
  if (options.recomputePointwise.hasValue())
    chosen = {options.recomputePointwise, /*minSaving=*/0};
  manager.addNestedPass<func::FuncOp>(createRecomputePointwisePass(chosen));
}

//===----------------------------------------------------------------------===//
// Sections of the pipeline
//===----------------------------------------------------------------------===//

static void addPreparation(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createNamePortsPass({options.mode}));
  // Runs before composites with indices are decomposed.
  manager.addNestedPass<func::FuncOp>(createBoundIndicesPass());
}

static void addRecognition(OpPassManager &manager, const PipelineOptions &options) {
  // Runs before autocast, whose casts would separate scores and softmax. The fused operation has its own policy.
  if (options.fuses(Fusion::Flash))
    manager.addNestedPass<func::FuncOp>(createFlashAttentionPass());
  // Runs before autocast, whose policy treats a softmax as one operation.
  if (options.fuses(Fusion::Softmax))
    manager.addNestedPass<func::FuncOp>(createFuseSoftmaxPass());
}

static void addPrecision(OpPassManager &manager, const PipelineOptions &options) {
  addAutocast(manager, options.dtype);
  if (options.mergeGemms)
    manager.addPass(createMergeGemmsPass());
  if (options.dtype == ComputeType::FP16)
    manager.addNestedPass<func::FuncOp>(createScaleLossPass());
}

static void addDecomposition(OpPassManager &manager) {
  manager.addNestedPass<func::FuncOp>(createDecomposePass());
  addCleanup(manager);
}

/// Runs while gradients exist: the optimizer replaces them with updates.
static void addCheckpoints(OpPassManager &manager, const PipelineOptions &options) {
  if (options.checkpoint > 0)
    manager.addNestedPass<func::FuncOp>(createCheckpointPass({options.checkpoint}));
  if (options.selectiveCheckpoint != 0)
    manager.addNestedPass<func::FuncOp>(createSelectiveCheckpointPass({options.selectiveCheckpoint}));
  addRecomputation(manager, options);
}

/// Runs after recomputation, which reads the backward pass alone, and before the optimizer, which reads averaged
/// gradients.
static void addDistribution(OpPassManager &manager, const PipelineOptions &options) {
  if (options.worldSize == 1)
    return;
  llvm::StringRef device = getDefaultDeviceModel(/*isForGPU=*/options.target == Target::CUDA).name;
  double factors = !fusesUpdates(options) ? 0 : options.distribute == DistributeMode::FSDP ? kFactorsOfFSDP : kFactors;
  if (options.factors.hasValue())
    factors = options.factors;
  manager.addNestedPass<func::FuncOp>(
      createDistributePass({options.worldSize, options.distribute, options.bucketMiB, device.str(), options.prefetch,
                            options.gatherLayers, factors}));
}

static void addOptimizer(OpPassManager &manager, const PipelineOptions &options) {
  manager.addNestedPass<func::FuncOp>(createOptimizerPass());
  // Runs after updates are built, because they write the derived weights.
  if (options.weightShadows && options.fuses(Fusion::Elementwise))
    manager.addPass(createWeightShadowsPass());
  addCleanup(manager);
}

static void addFusion(OpPassManager &manager, const PipelineOptions &options) {
  if (options.hoistInvariants)
    manager.addPass(createHoistInvariantsPass());
  if (options.fuseEpilogues && options.fuses(Fusion::Elementwise))
    manager.addNestedPass<func::FuncOp>(createFuseEpiloguesPass());
  if (options.fuses(Fusion::Elementwise)) {
    // Runs after all passes that create or move element-wise operations: later passes do not look into groups.
    manager.addNestedPass<func::FuncOp>(createMoveLayoutsPass());
    manager.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  }
}

LogicalResult cs336::buildDifferentiation(OpPassManager &manager, const PipelineOptions &options, PipelineError error) {
  addPreparation(manager, options);
  if (failed(addExtra(manager, options.extraBeforeRecognition, error)))
    return failure();
  addRecognition(manager, options);
  if (failed(addExtra(manager, options.extraAfterRecognition, error)))
    return failure();
  addPrecision(manager, options);
  if (failed(addExtra(manager, options.extraAfterAutocast, error)))
    return failure();
  addDecomposition(manager);
  if (failed(addExtra(manager, options.extraAfterDecomposition, error)))
    return failure();
  manager.addNestedPass<func::FuncOp>(createDifferentiatePass());
  return success();
}

LogicalResult cs336::buildPipeline(OpPassManager &manager, const PipelineOptions &options, PipelineError error) {
  if (!options.memoryBudget.empty())
    return error("the option memory-budget of the pipeline takes several compilations: cs336-translate, cs336-run, "
                 "cs336-bench and Python have it; here set selective-checkpoint");
  if (options.distribute.hasValue() && !options.worldSize.hasValue())
    return error("the option distribute of the pipeline requires the option world-size, the number of ranks");
  if (failed(buildDifferentiation(manager, options, error)))
    return failure();
  addCheckpoints(manager, options);
  if (failed(addExtra(manager, options.extraAfterDifferentiation, error)))
    return failure();
  addDistribution(manager, options);
  addOptimizer(manager, options);
  if (failed(addExtra(manager, options.extraAfterOptimizer, error)))
    return failure();
  addFusion(manager, options);
  if (failed(addExtra(manager, options.extraAfterFusion, error)))
    return failure();
  manager.addPass(createConvertCS336ToExecPass());
  if (failed(addExtra(manager, options.extraAfterLowering, error)))
    return failure();
  return buildPlanning(manager, options, error);
}

//===----------------------------------------------------------------------===//
// Options as text
//===----------------------------------------------------------------------===//

bool PipelineOptions::hasExtraPasses() const {
  return llvm::any_of(ArrayRef({&extraBeforeRecognition, &extraAfterRecognition, &extraAfterAutocast,
                                &extraAfterDecomposition, &extraAfterDifferentiation, &extraAfterOptimizer,
                                &extraAfterFusion, &extraAfterLowering, &extraAfterPlanning}),
                      [](const ExtraPasses *extra) { return !extra->getValue().empty(); });
}

SmallVector<StringRef> cs336::splitPipelineOptions(StringRef text) {
  SmallVector<StringRef> options;
  size_t begin = 0;
  int64_t depth = 0;
  char quote = 0;
  for (size_t position = 0; position <= text.size(); ++position) {
    char c = position < text.size() ? text[position] : ' ';
    if (quote != 0) {
      if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      --depth;
    }
    bool isEnd = position == text.size() || (llvm::isSpace(c) && quote == 0 && depth <= 0);
    if (!isEnd)
      continue;
    if (position > begin)
      options.push_back(text.slice(begin, position));
    begin = position + 1;
  }
  return options;
}

void cs336::registerPipelines() {
  registerPassPipeline(
      "cs336-pipeline", "From a model's functions to planned entries: every pass, in order",
      [](OpPassManager &manager, StringRef text, PipelineError error) {
        PipelineOptions options;
        return failure(failed(options.parseFromString(text)) || failed(buildPipeline(manager, options, error)));
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> handler) { handler(PipelineOptions()); });
}
