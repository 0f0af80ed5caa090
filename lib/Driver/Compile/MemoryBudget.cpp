//===- MemoryBudget.cpp - Recomputation that fits a budget ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/MemoryBudget.h"

#include "PlannedCopies.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Target/Executable/EmitExecutable.h"
#include "cs336/runtime/format/ReservedMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace cs336;

static constexpr StringLiteral kBudgetOption = "memory-budget";

static std::string makeShareOption(double share) { return llvm::formatv("selective-checkpoint={0}", share); }

FailureOr<Recomputation> cs336::findRecomputation(ModuleOp module, const CompileOptions &options, int64_t budget) {
  PlannedCopies copies(module, options);
  Recomputation best;
  auto tryShare = [&](double share) -> FailureOr<bool> {
    int64_t bytes = 0;
    auto measure = [&](ModuleOp planned) -> LogicalResult {
      FailureOr<format::ExecutableT> program = describeProgram(planned, options.target);
      if (failed(program))
        return failure();
      bytes = format::ComputeReservedMemory(*program).total();
      return success();
    };
    if (failed(copies.plan(makeShareOption(share), measure)))
      return failure();
    if (bytes <= budget || best.bytes == 0 || bytes < best.bytes)
      best = {share, bytes};
    return bytes <= budget;
  };
  for (double share : {0.0, 1.0}) {
    FailureOr<bool> fits = tryShare(share);
    if (failed(fits))
      return failure();
    if (*fits == (share == 0))
      return best;
  }
  // All budgets start with the same bounds and take the same way until one share fits the larger budget alone, so the
  // result is monotone in the budget whether or not memory is monotone in the share.
  constexpr int kSteps = 1024;
  int tooSmall = 0, fitting = kSteps;
  while (fitting - tooSmall > 1) {
    int middle = tooSmall + (fitting - tooSmall) / 2;
    FailureOr<bool> fits = tryShare(static_cast<double>(middle) / kSteps);
    if (failed(fits))
      return failure();
    (*fits ? fitting : tooSmall) = middle;
  }
  return best;
}

FailureOr<BudgetFit> cs336::findBudgetFit(ModuleOp module, const CompileOptions &options) {
  PipelineOptions pipeline;
  if (llvm::Error error = pipeline.read(options.pipeline)) {
    // Running the pipeline reports the error.
    llvm::consumeError(std::move(error));
    return BudgetFit{options, ""};
  }
  std::string budget = pipeline.memoryBudget;
  if (budget.empty())
    return BudgetFit{options, ""};
  auto fail = [&] { return emitError(module.getLoc()) << "memory budget " << budget << ": "; };
  if (pipeline.checkpoint != 0 || pipeline.selectiveCheckpoint != 0)
    return fail() << "conflicts with the pipeline's options checkpoint and selective-checkpoint, which choose what is "
                     "recomputed: give one of them",
           failure();
  if (!module.getOps<exec::EntryOp>().empty())
    return fail() << "the module is exec IR, past the passes that recompute: give the model in the cs336 dialect",
           failure();
  std::optional<int64_t> bytes = budget == "auto" ? std::optional(options.deviceMemoryBytes) : parseBytes(budget);
  if (!bytes)
    return fail() << "must be a size such as 30GiB, or auto", failure();
  if (*bytes == 0)
    return fail() << "the memory of the device is unknown here: give a size such as 30GiB", failure();

  BudgetFit fit{options, ""};
  fit.options.pipeline.clear();
  for (StringRef option : splitPipelineOptions(options.pipeline))
    if (option.split('=').first != kBudgetOption)
      fit.options.pipeline += option.str() + " ";
  FailureOr<Recomputation> found = findRecomputation(module, fit.options, *bytes);
  if (failed(found))
    return failure();
  if (found->bytes > *bytes)
    fit.whyNot =
        llvm::formatv("memory budget {0}: the program requires at least {1} bytes ({2}), however much of it is "
                      "recomputed: a narrower type, blocks of layers (checkpoint), a smaller batch or a "
                      "shorter context may require less",
                      budget, found->bytes, formatBytes(found->bytes));
  fit.options.pipeline += makeShareOption(found->share);
  return fit;
}

FailureOr<CompileOptions> cs336::fitMemoryBudget(ModuleOp module, const CompileOptions &options) {
  FailureOr<BudgetFit> fit = findBudgetFit(module, options);
  if (failed(fit))
    return failure();
  if (!fit->whyNot.empty())
    return emitError(module.getLoc()) << fit->whyNot;
  return std::move(fit->options);
}
