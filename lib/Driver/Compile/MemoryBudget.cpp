//===- MemoryBudget.cpp - Recomputation that fits a budget ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/MemoryBudget.h"

#include "PlannedCopies.h"
#include "cs336/Dialect/CS336/Transforms/Memory/RecomputationSteps.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/Target/Executable/EmitExecutable.h"
#include "cs336/runtime/format/ReservedMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace cs336;

static constexpr StringLiteral kBudgetOption = "memory-budget";

std::string Recomputation::getOption() const { return llvm::formatv("selective-checkpoint={0:f9}", share); }

namespace {
/// The shares with which a module recomputes different operations, in increasing order.
struct Shares {
  SmallVector<double> all;
  /// The positions in `all` at which the blocks of a function are all at the end of the same rung.
  SmallVector<size_t> rungEnds;
};

/// Plans a module with one share after the other.
class ShareSearch {
public:
  ShareSearch(ModuleOp module, const CompileOptions &options, int64_t budget)
      : copies(module, options), target(options.target), budget(budget) {}

  FailureOr<Shares> findShares();
  /// Returns whether the program with this share fits.
  FailureOr<bool> tryShare(double share);
  /// Returns the last share that fits of those tried, or if none does, the one with the least memory.
  const Recomputation &getBest() const { return best; }

private:
  PlannedCopies copies;
  Target target;
  int64_t budget;
  Recomputation best;
};
} // namespace

FailureOr<Shares> ShareSearch::findShares() {
  std::map<double, bool> isRungEnd;
  auto addSteps = [&](ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      RecomputationSteps steps = findRecomputationSteps(function);
      for (size_t step = 1; step <= steps.getNumber(); ++step)
        isRungEnd[steps.getShare(step)] |= step % steps.blocks == 0;
    }
  };
  if (failed(copies.differentiate(addSteps)))
    return failure();
  Shares shares;
  for (auto [share, isEnd] : isRungEnd) {
    if (isEnd)
      shares.rungEnds.push_back(shares.all.size());
    shares.all.push_back(share);
  }
  return shares;
}

FailureOr<bool> ShareSearch::tryShare(double share) {
  Recomputation tried{share, 0};
  auto measure = [&](ModuleOp planned) -> LogicalResult {
    FailureOr<format::ExecutableT> program = describeProgram(planned, target);
    if (failed(program))
      return failure();
    tried.bytes = format::ComputeReservedMemory(*program).total();
    return success();
  };
  if (failed(copies.plan(tried.getOption(), measure)))
    return failure();
  bool fits = tried.bytes <= budget;
  if (fits || best.bytes == 0 || tried.bytes < best.bytes)
    best = tried;
  return fits;
}

FailureOr<Recomputation> cs336::findRecomputation(ModuleOp module, const CompileOptions &options, int64_t budget) {
  ShareSearch search(module, options, budget);
  FailureOr<bool> fits = search.tryShare(0);
  if (failed(fits))
    return failure();
  if (*fits)
    return search.getBest();
  FailureOr<Shares> shares = search.findShares();
  if (failed(shares))
    return failure();
  // The bounds of the bisection are the first end of a rung that fits, and the end before it. A larger budget has the
  // same or earlier bounds, and with the same bounds it takes the same way until a share fits it alone. So the result
  // is monotone in the budget whether or not memory is monotone in the share.
  size_t begin = 0;
  for (size_t end : shares->rungEnds) {
    if (failed(fits = search.tryShare(shares->all[end])))
      return failure();
    if (!*fits) {
      begin = end + 1;
      continue;
    }
    while (begin < end) {
      size_t middle = begin + (end - begin) / 2;
      if (failed(fits = search.tryShare(shares->all[middle])))
        return failure();
      if (*fits)
        end = middle;
      else
        begin = middle + 1;
    }
    break;
  }
  return search.getBest();
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
    fit.whyNot = llvm::formatv(
        "memory budget {0}: the smallest budget that works is {1} bytes ({2}): a narrower type, blocks of "
        "layers (checkpoint), a smaller batch or a shorter context may require less",
        budget, found->bytes, formatBytes(found->bytes));
  fit.options.pipeline += found->getOption();
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
