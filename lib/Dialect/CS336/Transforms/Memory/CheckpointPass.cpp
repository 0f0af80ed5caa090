//===- CheckpointPass.cpp - Recomputation of activations ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputableBlocks.h"
#include "RecomputedSpan.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"

namespace cs336 {
#define GEN_PASS_DEF_CHECKPOINTPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions checkpointRemarks("cs336-checkpoint");

namespace {
class CheckpointPass : public cs336::impl::CheckpointPassBase<CheckpointPass>, public CountingPass {
public:
  using CheckpointPassBase::CheckpointPassBase;

private:
  void runOnOperation() override;

  PassCounter numBlocks{this, "num-blocks", "Number of blocks found"};
  PassCounter numDropped{this, "num-dropped", "Number of activations dropped"};
  PassCounter numRecomputed{this, "num-recomputed", "Number of operations computed again"};
};
} // namespace

/// Emits the remark about blocks that are computed again together.
static void report(ArrayRef<ProgramBlock> blocks, size_t numBlocks, const RecomputedSpan &span) {
  Location loc = blocks.front().operations.front()->getLoc();
  if (span.getNumDropped() == 0)
    remark::missed(loc, checkpointRemarks("NothingDropped"))
        << remark::add("the backward pass reads no recomputable value of {0} of {1} blocks", blocks.size(), numBlocks);
  else
    remark::passed(loc, checkpointRemarks("Recomputed"))
        << remark::add("{0} of {1} blocks together: {2} bytes of activations are dropped, {3} FLOPs are computed again",
                       blocks.size(), numBlocks, span.getDroppedBytes(), span.getFlops());
}

void CheckpointPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (every == 0 || function.isExternal())
    return;
  std::optional<RecomputableBlocks> found = RecomputableBlocks::find(function, checkpointRemarks);
  if (!found)
    return;
  ArrayRef<ProgramBlock> blocks = found->blocks;
  numBlocks += blocks.size();
  for (size_t first = 0; first < blocks.size(); first += every) {
    ArrayRef<ProgramBlock> together = blocks.drop_front(first).take_front(every);
    RecomputedSpan span(together, found->forward, [](Operation *) { return true; });
    report(together, blocks.size(), span);
    if (span.getNumDropped() == 0)
      continue;
    span.recompute();
    numDropped += span.getNumDropped();
    numRecomputed += span.getCopied().size();
  }
}
