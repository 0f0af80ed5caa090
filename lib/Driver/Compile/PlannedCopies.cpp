//===- PlannedCopies.cpp - Trial runs of the pipeline ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedCopies.h"

#include "cs336/Pipelines/Differentiation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336;

PlannedCopies::PlannedCopies(ModuleOp module, const CompileOptions &options) : module(module), options(options) {
  this->options.dumpDir.clear();
  this->options.remarks.clear();
  this->options.timing = nullptr;
  this->options.passStatistics = nullptr;
  llvm::raw_string_ostream stream(bytecode);
  // Fails for an unknown version of the format alone.
  (void)writeBytecodeToFile(module, stream);
}

LogicalResult PlannedCopies::withCopy(llvm::function_ref<LogicalResult(ModuleOp)> use) {
  MLIRContext context(module.getContext()->getDialectRegistry(), MLIRContext::Threading::DISABLED);
  if (module.getContext()->isMultithreadingEnabled())
    context.setThreadPool(module.getContext()->getThreadPool());
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> copy = parseSourceString<ModuleOp>(bytecode, ParserConfig(&context));
  if (!copy || failed(use(*copy)))
    return emitError(module.getLoc()) << errors;
  return success();
}

LogicalResult PlannedCopies::plan(StringRef pipeline, llvm::function_ref<LogicalResult(ModuleOp)> use) {
  CompileOptions trial = options;
  trial.pipeline += " " + pipeline.str();
  return withCopy([&](ModuleOp copy) { return failure(failed(runPipeline(copy, trial)) || failed(use(copy))); });
}

LogicalResult PlannedCopies::differentiate(llvm::function_ref<void(ModuleOp)> use) {
  return withCopy([&](ModuleOp copy) -> LogicalResult {
    auto fail = [&](const Twine &message) { return emitError(copy.getLoc()) << message; };
    PipelineOptions pipeline;
    if (llvm::Error error = pipeline.read(options.pipeline))
      return fail(llvm::toString(std::move(error)));
    pipeline.target = options.target;
    PassManager manager(copy.getContext(), copy.getOperationName());
    manager.enableVerifier(pipeline.hasExtraPasses());
    if (failed(buildDifferentiation(manager, pipeline, fail)) || failed(manager.run(copy)))
      return failure();
    use(copy);
    return success();
  });
}
