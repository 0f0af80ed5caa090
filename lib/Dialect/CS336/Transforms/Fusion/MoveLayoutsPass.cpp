//===- MoveLayoutsPass.cpp - Layout operations at kernels' borders --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbConversions.h"
#include "LayoutBorders.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cs336 {
#define GEN_PASS_DEF_MOVELAYOUTSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
class MoveLayoutsPass : public cs336::impl::MoveLayoutsPassBase<MoveLayoutsPass>, public CountingPass {
  void runOnOperation() override;

  PassCounter numAbsorbed{this, "num-absorbed", "Number of conversions and multiplications moved into groups"};
  PassCounter numMoved{this, "num-moved", "Number of layout operations moved to the border of a kernel"};
};
} // namespace

void MoveLayoutsPass::runOnOperation() {
  if (getOperation().isExternal() || !getOperation().getBody().hasOneBlock())
    return;
  Block &block = getOperation().getBody().front();
  numAbsorbed += absorbConversions(block);
  numMoved += moveLayoutsToBorders(block);
}
