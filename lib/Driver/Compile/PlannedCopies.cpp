//===- PlannedCopies.cpp - Trial runs of the pipeline ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedCopies.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
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

LogicalResult PlannedCopies::plan(StringRef pipeline, llvm::function_ref<LogicalResult(ModuleOp)> use) {
  MLIRContext context(module.getContext()->getDialectRegistry(), MLIRContext::Threading::DISABLED);
  if (module.getContext()->isMultithreadingEnabled())
    context.setThreadPool(module.getContext()->getThreadPool());
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  CompileOptions trial = options;
  trial.pipeline += " " + pipeline.str();
  OwningOpRef<ModuleOp> copy = parseSourceString<ModuleOp>(bytecode, ParserConfig(&context));
  if (!copy || failed(runPipeline(*copy, trial)) || failed(use(*copy)))
    return emitError(module.getLoc()) << errors;
  return success();
}
