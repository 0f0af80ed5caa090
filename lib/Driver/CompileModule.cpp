//===- CompileModule.cpp - From IR to an executable -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/CompileModule.h"

#include "DumpFiles.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassStatistics.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "cs336/Target/Executable/EmitExecutable.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

using namespace mlir;
using namespace cs336;

static LogicalResult parseOptions(ModuleOp module, StringRef text, PipelineOptions &options) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (succeeded(options.parseFromString(text, stream)))
    return success();
  return emitError(UnknownLoc::get(module.getContext())) << "pipeline options '" << text << "': " << message;
}

/// A scope within the caller's, or one that measures nothing.
static TimingScope nestScope(const CompileOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

LogicalResult cs336::runPipeline(ModuleOp module, const CompileOptions &options) {
  PipelineOptions pipeline;
  if (failed(parseOptions(module, options.pipeline, pipeline)))
    return failure();

  PassManager manager(module.getContext(), module.getOperationName());
  auto entries = module.getOps<exec::EntryOp>();
  if (entries.empty()) {
    buildPipeline(manager, pipeline);
  } else {
    auto isPlanned = [](exec::EntryOp entry) { return entry.getArenaBytes().has_value(); };
    if (llvm::all_of(entries, isPlanned))
      return success();
    manager.addNestedPass<exec::EntryOp>(exec::createPlanMemoryPass());
  }

  TimingScope scope = nestScope(options, "pipeline");
  manager.enableTiming(scope);
  if (options.passStatistics)
    enablePassStatistics(manager, *options.passStatistics);
  if (!options.dumpDir.empty() && failed(enableDump(manager, options.dumpDir)))
    return failure();
  return manager.run(module);
}

FailureOr<std::vector<uint8_t>> cs336::compileModule(ModuleOp module, const CompileOptions &options) {
  if (failed(runPipeline(module, options)))
    return failure();
  if (!options.dumpDir.empty() && failed(dumpPlan(module, options.dumpDir)))
    return failure();

  TimingScope kernels = nestScope(options, "kernels");
  CPUTargetOptions target;
  target.cpu = options.cpu;
  FailureOr<CompiledKernels> compiled = compileKernelsForCPU(module, target, &kernels);
  kernels.stop();
  if (failed(compiled))
    return failure();
  if (!options.dumpDir.empty() && failed(dumpKernels(module, compiled->objects.front().image, options.dumpDir)))
    return failure();

  TimingScope executable = nestScope(options, "executable");
  return emitExecutable(module, *compiled);
}
