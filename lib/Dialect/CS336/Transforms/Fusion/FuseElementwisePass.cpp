//===- FuseElementwisePass.cpp - Fuses operations into kernels ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbConversions.h"
#include "AbsorbSlices.h"
#include "OutlineGroups.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace cs336 {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
class FuseElementwisePass : public cs336::impl::FuseElementwisePassBase<FuseElementwisePass>, public CountingPass {
  void runOnOperation() override;

  PassCounter numGroups{this, "num-groups", "Number of groups made"};
  PassCounter numFused{this, "num-fused", "Number of operations put into groups"};
  PassCounter numRecomputed{this, "num-recomputed", "Number of operations computed again instead of stored"};
  PassCounter bytesSaved{this, "bytes-saved", "Bytes that need not be read or written"};
};
} // namespace

static constexpr RemarkOptions fuseElementwiseRemarks("cs336-fuse-elementwise");

static StringRef getReason(FusionBarrier barrier) {
  switch (barrier) {
  case FusionBarrier::None:
    break;
  case FusionBarrier::Space:
    return "no iteration space covers the shapes of both";
  case FusionBarrier::Cycle:
    return "an operation outside the kernel depends on one of them and is needed by the other";
  case FusionBarrier::Registers:
    return "the kernel's values would not fit into registers";
  case FusionBarrier::Work:
    return "the kernel would be limited by arithmetic, so fewer loads and stores would not speed it up";
  case FusionBarrier::Bytes:
    return "fusion would not reduce memory traffic";
  }
  llvm_unreachable("every barrier has a reason");
}

/// Returns whether a fusible operation reads the result, possibly through a broadcast.
static bool isReadByFusible(Operation *op, const FusionRoles &roles) {
  SmallVector<Operation *> pending{op};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val()->getUsers()) {
      if (roles.isFusible(user))
        return true;
      if (roles.get(user) == FusionRole::Rematerialized)
        pending.push_back(user);
    }
  return false;
}

/// Emits a remark for every reduction that must be stored because other kernels read it.
static void remarkClosedReductions(Block &block, const FusionRoles &roles) {
  for (Operation &op : block) {
    if (roles.get(&op) != FusionRole::ClosedReduction)
      continue;
    if (isReadByFusible(&op, roles))
      remark::missed(op.getLoc(), fuseElementwiseRemarks("KernelEnds"))
          << "the result is stored for another kernel: the reduction is over other axes than the last, or over all";
  }
}

void FuseElementwisePass::runOnOperation() {
  if (getOperation().isExternal() || !getOperation().getBody().hasOneBlock())
    return;
  Block &block = getOperation().getBody().front();
  FusionRoles roles(block);
  remarkClosedReductions(block, roles);
  FusionRegions regions(block, roles);
  FusionGroups groups(block, roles, regions);
  numRecomputed += regions.getNumRecomputed();
  for (const FusionGroups::Missed &missed : groups.getMissed())
    if (groups.find(missed.producer) != groups.find(missed.consumer))
      remark::missed(missed.consumer->getLoc(), fuseElementwiseRemarks("NotFused")) << remark::add(
          "not fused with {0}: {1}", missed.producer->getName().stripDialect().str(), getReason(missed.barrier).str());
  outlineGroups(block, roles, groups, [&](FusedOp fused, const FusionGroup &group) {
    int64_t before = 0;
    for (Operation *op : group.ops)
      if (auto cost = dyn_cast<CostOpInterface>(op))
        before = addSaturating(before, cost.getBytes());
    int64_t after = fused.getBytes();
    remark::passed(fused.getLoc(), fuseElementwiseRemarks("Fused"))
        << remark::add("{0} operations in one kernel: {1} bytes instead of {2}", group.ops.size(), after, before);
    ++numGroups;
    numFused += group.ops.size();
    bytesSaved += std::max<int64_t>(before - after, 0);
  });
  numFused += absorbConversions(block);
  numFused += absorbSlices(block);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
