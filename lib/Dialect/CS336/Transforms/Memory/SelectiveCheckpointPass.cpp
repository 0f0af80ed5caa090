//===- SelectiveCheckpointPass.cpp - Recomputation by its cost ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputableBlocks.h"
#include "RecomputationLadder.h"
#include "RecomputedSpan.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/Transforms/Memory/RecomputationSteps.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_SELECTIVECHECKPOINTPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions selectiveCheckpointRemarks("cs336-selective-checkpoint");

namespace {
class SelectiveCheckpointPass : public cs336::impl::SelectiveCheckpointPassBase<SelectiveCheckpointPass>,
                                public CountingPass {
public:
  using SelectiveCheckpointPassBase::SelectiveCheckpointPassBase;

private:
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

  PassCounter numBlocks{this, "num-blocks", "Number of blocks found"};
  PassCounter numDropped{this, "num-dropped", "Number of activations dropped"};
  PassCounter numRecomputed{this, "num-recomputed", "Number of operations computed again"};
};
} // namespace

LogicalResult SelectiveCheckpointPass::initialize(MLIRContext *context) {
  if (share >= 0 && share <= 1)
    return success();
  return emitError(UnknownLoc::get(context)) << "share is " << share << ", must be from 0 to 1";
}

void SelectiveCheckpointPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (share == 0 || function.isExternal())
    return;
  std::optional<RecomputableBlocks> found = RecomputableBlocks::find(function, selectiveCheckpointRemarks);
  if (!found)
    return;
  ArrayRef<ProgramBlock> blocks = found->blocks;
  numBlocks += blocks.size();
  RecomputationLadder ladder(blocks, found->forward);
  if (ladder.getNumRungs() == 0) {
    remark::missed(function.getLoc(), selectiveCheckpointRemarks("NothingDropped"))
        << remark::add("the backward pass reads no recomputable value of the {0} blocks", blocks.size());
    return;
  }

  // One step takes one block to the next rung. The first blocks go first: the backward pass reads their values last,
  // so memory is lowest while they are computed again.
  size_t steps = RecomputationSteps{ladder.getNumRungs(), blocks.size()}.getSteps(share);
  for (auto [index, block] : llvm::enumerate(blocks)) {
    size_t rung = steps / blocks.size() + (index < steps % blocks.size());
    RecomputedSpan span(block, found->forward, [&](Operation *op) { return ladder.includes(rung, op); });
    if (span.getNumDropped() == 0)
      continue;
    remark::passed(block.operations.front()->getLoc(), selectiveCheckpointRemarks("Recomputed"))
        << remark::add("block {0} of {1}, rung {2} of {3}: {4} bytes of activations are dropped, {5} FLOPs are "
                       "computed again",
                       index + 1, blocks.size(), rung, ladder.getNumRungs(), span.getDroppedBytes(), span.getFlops());
    span.recompute();
    numDropped += span.getNumDropped();
    numRecomputed += span.getCopied().size();
  }
}
