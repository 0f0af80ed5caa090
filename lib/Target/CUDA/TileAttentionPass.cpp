//===- TileAttentionPass.cpp - Selected tiles for attention ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionTiles.h"
#include "ScheduleSelection.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Target/CUDA/Passes.h"

namespace cs336 {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {
struct TileAttentionPass : cs336::impl::TileAttentionPassBase<TileAttentionPass>, CountingPass {
  using TileAttentionPassBase::TileAttentionPassBase;

  void runOnOperation() override;

private:
  PassCounter numKernels{this, "num-kernels", "Number of kernels that got a selection"};
};
} // namespace

/// Returns the functions of the kernel's attention; none if the kernel has no attention.
static SmallVector<AttentionStage, 2> getStages(exec::KernelOp kernel) {
  SmallVector<AttentionStage, 2> stages;
  kernel.walk([&](Operation *op) {
    if (isa<AttentionOp>(op))
      stages = {AttentionStage::Forward};
    else if (isa<AttentionBackwardOp>(op))
      stages = {AttentionStage::BackwardQueries, AttentionStage::BackwardKeys};
  });
  return stages;
}

void TileAttentionPass::runOnOperation() {
  ScoreTile tile{queries, keys};
  for (auto [name, side] : {std::pair("queries", tile.queries), std::pair("keys", tile.keys)})
    if (!ScoreTile::isLegalSide(side)) {
      getOperation().emitError() << "option " << name << " is " << side << ", must be "
                                 << ScoreTile::describeLegalSides();
      return signalPassFailure();
    }
  FailureOr<std::vector<std::string>> architectures = getArchitectures(getOperation());
  if (failed(architectures))
    return signalPassFailure();
  if (architectures->empty())
    architectures->push_back(portableTarget.name.str());
  for (auto kernel : getOperation().getOps<exec::KernelOp>()) {
    SmallVector<AttentionStage, 2> stages = getStages(kernel);
    if (stages.empty())
      continue;
    NamedAttrList parameters;
    for (AttentionStage stage : stages)
      parameters.set(AttentionTiles::getStageName(stage), AttentionTiles::getParameters(stage, tile, &getContext()));
    for (const std::string &architecture : *architectures)
      writeSelection(kernel, getTarget(architecture),
                     {SelectedSchedule{"attention", parameters.getDictionary(&getContext())}});
    ++numKernels;
  }
}
