//===- CompileModule.cpp - From IR to an executable -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/CompileModule.h"

#include "DumpFiles.h"
#include "ExecutableCache.h"
#include "PassDump.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Driver/Compile/MemoryBudget.h"
#include "cs336/Statistics/PassStatistics.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/CUDA/CUDATarget.h"
#include "cs336/Target/CUDA/TargetDescription.h"
#include "cs336/Target/Executable/EmitExecutable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

#include <atomic>

using namespace mlir;
using namespace cs336;

/// Parses the pipeline's options. The target is that of the compilation.
static LogicalResult parseOptions(ModuleOp module, const CompileOptions &options, PipelineOptions &pipeline) {
  InFlightDiagnostic diagnostic = emitError(UnknownLoc::get(module.getContext()))
                                  << "pipeline options '" << options.pipeline << "': ";
  if (llvm::Error error = pipeline.read(options.pipeline))
    return diagnostic << llvm::toString(std::move(error));
  if (pipeline.target.hasValue() && pipeline.target != options.target)
    return diagnostic << "the target is not the device that the program is compiled for: leave it out";
  diagnostic.abandon();
  pipeline.target = options.target;
  return success();
}

/// Returns the name of an option that only passes before those of `entries` read; empty if there is none.
static StringRef findPastOption(const CompileOptions &options, bool isPlanned) {
  for (StringRef option : splitPipelineOptions(options.pipeline)) {
    StringRef name = option.split('=').first;
    bool isOfPlanning = llvm::is_contained({"gather-ahead", "tuned-schedules", "extra-after-planning"}, name);
    if (name != "target" && (isPlanned || !isOfPlanning))
      return name;
  }
  return "";
}

/// Returns whether all numbers of the program are in float64, which autocast keeps.
static bool isInFloat64(ModuleOp module) {
  bool hasDoubles = false, hasOthers = false;
  auto count = [&](TypeRange types) {
    for (Type type : types) {
      Type element = getElementTypeOrSelf(type);
      hasDoubles |= element.isF64();
      hasOthers |= isa<FloatType>(element) && !element.isF64();
    }
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    count(function.getArgumentTypes());
    function.walk([&](Operation *op) { count(op->getResultTypes()); });
  }
  return hasDoubles && !hasOthers;
}

/// A timing scope inside the caller's, or one that measures nothing.
static TimingScope nestScope(const CompileOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

/// Emits the remarks that the options select, unless the context has a receiver of remarks.
static void enableRemarks(ModuleOp module, const CompileOptions &options) {
  if (options.remarks.empty() || module.getContext()->getRemarkEngine())
    return;
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis = categories.failed = options.remarks;
  // Fails only in a context that has a receiver.
  (void)remark::enableOptimizationRemarks(*module.getContext(), /*streamer=*/nullptr,
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
                                          /*printAsEmitRemarks=*/true);
}

LogicalResult cs336::runPipeline(ModuleOp module, const CompileOptions &given) {
  enableRemarks(module, given);
  FailureOr<CompileOptions> fitted = fitMemoryBudget(module, given);
  if (failed(fitted))
    return failure();
  const CompileOptions &options = *fitted;
  PipelineOptions pipeline;
  if (failed(parseOptions(module, options, pipeline)))
    return failure();

  PassManager manager(module.getContext(), module.getOperationName());
  // Verifying after every pass, as cs336-opt does, takes as long as all passes together: here it is done once, after
  // the last. The parser has verified the input, and every pass creates valid input for the next one. IR is also
  // verified after passes that a user adds, and after the passes that follow them.
  manager.enableVerifier(pipeline.hasExtraPasses());
  auto entries = module.getOps<exec::EntryOp>();
  auto isPlanned = [](exec::EntryOp entry) { return entry.getArenaBytes().has_value(); };
  auto fail = [&](const Twine &message) { return emitError(UnknownLoc::get(module.getContext())) << message; };
  bool isPast = !entries.empty(), isAllPlanned = isPast && llvm::all_of(entries, isPlanned);
  if (StringRef past = isPast ? findPastOption(options, isAllPlanned) : ""; !past.empty())
    return fail("the option " + past +
                " of the pipeline has no effect, because the module is exec IR, past the passes that read the option: "
                "leave it out, or give the module before --cs336-pipeline");
  if (pipeline.dtype != ComputeType::FP32 && isInFloat64(module))
    return fail("the option dtype=" + stringifyComputeType(pipeline.dtype) +
                " of the pipeline has no effect on a program in float64: leave it out, or build the model in float32");
  if (isAllPlanned)
    return success();
  // A planned program keeps the architectures that it was planned for.
  if (options.target == Target::CUDA)
    cuda::setArchitectures(module, options.architectures);
  if (failed(entries.empty() ? buildPipeline(manager, pipeline, fail) : buildPlanning(manager, pipeline, fail)))
    return failure();

  TimingScope scope = nestScope(options, "pipeline");
  manager.enableTiming(scope);
  if (options.passStatistics)
    enablePassStatistics(manager, *options.passStatistics);
  std::optional<PassDump> dump;
  if (!options.dumpDir.empty()) {
    FailureOr<std::string> folder = createPassesFolder(module.getContext(), options.dumpDir);
    if (failed(folder))
      return failure();
    dump.emplace(*folder).enable(manager);
  }
  LogicalResult result = failure(failed(manager.run(module)) || failed(verify(module)));
  if (dump && !dump->getError().empty())
    return fail(dump->getError());
  return result;
}

static FailureOr<CompiledKernels> compileKernels(ModuleOp module, const CompileOptions &options) {
  TimingScope scope = nestScope(options, "kernels");
  switch (options.target) {
  case Target::CPU:
    return compileKernelsForCPU(module, {options.cpu}, &scope);
  case Target::CUDA:
    return compileKernelsForCUDA(module, {options.architectures, options.cacheFolder, options.dumpDir}, &scope);
  }
  llvm_unreachable("every target has a case");
}

static FailureOr<std::vector<uint8_t>> compile(ModuleOp module, const CompileOptions &options) {
  if (failed(runPipeline(module, options)))
    return failure();
  if (!options.dumpDir.empty() &&
      (failed(dumpPlan(module, options.dumpDir)) || failed(dumpLinalg(module, options.dumpDir))))
    return failure();
  FailureOr<CompiledKernels> compiled = compileKernels(module, options);
  if (failed(compiled))
    return failure();
  if (!options.dumpDir.empty() && options.target == Target::CPU &&
      failed(dumpObject(module, compiled->objects.front().image, options.dumpDir)))
    return failure();

  TimingScope executable = nestScope(options, "executable");
  return emitExecutable(module, *compiled);
}

/// Returns the options without a cache, and emits a warning, if other users can write to the cache.
static CompileOptions leaveOutUntrustedCache(ModuleOp module, const CompileOptions &options) {
  absl::Status status = runtime::CheckCacheFolder(options.cacheFolder);
  CompileOptions trusted = options;
  if (!options.cacheFolder.empty() && !status.ok()) {
    emitWarning(module.getLoc()) << "compiling without a cache: " << std::string(status.message());
    trusted.cacheFolder.clear();
  }
  return trusted;
}

FailureOr<std::vector<uint8_t>> cs336::compileModule(ModuleOp module, const CompileOptions &given) {
  enableRemarks(module, given);
  FailureOr<CompileOptions> tuned = tuneSchedules(module, given);
  if (failed(tuned))
    return failure();
  CompileOptions options = leaveOutUntrustedCache(module, *tuned);
  std::optional<std::string> key = ExecutableCache::getKey(module, options);
  if (!key)
    return compile(module, options);
  ExecutableCache cache(options.cacheFolder);
  if (std::optional<std::vector<uint8_t>> found = cache.find(*key))
    return std::move(*found);

  // A compilation with diagnostics is not stored, so that they are emitted again next time.
  std::atomic<bool> isSilent = true;
  FailureOr<std::vector<uint8_t>> bytes = failure();
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &) {
      isSilent = false;
      return failure();
    });
    bytes = compile(module, options);
  }
  if (failed(bytes) || !isSilent)
    return bytes;
  if (llvm::Error error = cache.store(*key, *bytes))
    emitWarning(module.getLoc()) << "the executable is not kept for the next run: " << llvm::toString(std::move(error));
  return bytes;
}
