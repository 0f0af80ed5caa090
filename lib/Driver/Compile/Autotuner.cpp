//===- Autotuner.cpp - Schedules by measurement ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/Autotuner.h"

#include "PlannedCopies.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace cs336;

static constexpr llvm::StringLiteral kTunedOption = "tuned-schedules";

FailureOr<CompileOptions> cs336::tuneSchedules(ModuleOp module, const CompileOptions &options) {
  if (!options.autotuner)
    return options;
  CompileOptions tuned = options;
  tuned.autotuner = nullptr;
  for (StringRef option : splitPipelineOptions(options.pipeline))
    if (option.split('=').first == kTunedOption)
      return emitError(module.getLoc()) << "--autotune conflicts with '" << option
                                        << "', which names schedules that were tuned before: give one of them";
  if (llvm::any_of(module.getOps<exec::EntryOp>(), [](exec::EntryOp entry) { return entry.getArenaBytes(); })) {
    emitWarning(module.getLoc()) << "--autotune has no effect: the memory of this program is planned, with workspaces "
                                    "for the schedules that it has; give the module before --exec-plan-memory";
    return tuned;
  }
  std::string path;
  auto tune = [&](ModuleOp planned) -> LogicalResult {
    FailureOr<std::string> file = options.autotuner->tune(planned);
    if (succeeded(file))
      path = *std::move(file);
    return failure(failed(file));
  };
  if (failed(PlannedCopies(module, tuned).plan("", tune)))
    return failure();
  if (path.empty())
    return tuned;
  StringRef quote = StringRef(path).contains('\'') ? "\"" : "'";
  tuned.pipeline += (" " + kTunedOption + "=" + quote + path + quote).str();
  return tuned;
}
