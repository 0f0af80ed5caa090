//===- PlanMemoryPass.cpp - Gives all storage its place in one arena -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignment.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

namespace cs336::exec {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions planMemoryRemarks("exec-plan-memory");

/// The largest arena that `exec.entry` accepts, in bytes.
static constexpr int64_t kMostArenaBytes = int64_t{1} << 62;

namespace {
struct PlanMemoryPass : exec::impl::PlanMemoryPassBase<PlanMemoryPass>, CountingPass {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    if (failed(plan()))
      signalPassFailure();
  }

private:
  LogicalResult plan();

  PassCounter numAllocations{this, "num-allocations", "Number of allocations and outputs placed"};
  PassCounter arenaBytes{this, "arena-bytes", "Bytes of all arenas"};
  PassCounter liveBytes{this, "live-bytes", "Bytes of the largest live sets, which no plan can go below"};
};
} // namespace

LogicalResult PlanMemoryPass::plan() {
  EntryOp entry = getOperation();
  if (failed(verifyAlignment(entry, alignment)))
    return failure();

  HappensBefore order(entry);
  FailureOr<std::vector<Lifetime>> lifetimes = computeLifetimes(entry, order);
  if (failed(lifetimes))
    return failure();
  auto blocks = llvm::map_to_vector(*lifetimes, [&](const Lifetime &lifetime) {
    return ArenaBlock{static_cast<int64_t>(llvm::alignTo(lifetime.bytes, alignment)), lifetime.first, lifetime.last};
  });
  int64_t total = 0;
  for (const ArenaBlock &block : blocks)
    total = addSaturating(total, block.bytes);
  if (total > kMostArenaBytes)
    return entry.emitError() << "allocations and outputs of @" << entry.getSymName()
                             << " have more than 2^62 bytes in all, which no arena is planned for";
  auto interferesInSomeOrder = [&](unsigned earlier, unsigned later) {
    return interferes((*lifetimes)[earlier], (*lifetimes)[later], order);
  };
  // The commands of one stream have one order.
  llvm::function_ref<bool(unsigned, unsigned)> interference;
  if (order.getNumStreams() > 1)
    interference = interferesInSomeOrder;
  ArenaPlan plan = packArena(blocks, interference);

  // An allocation without uses needs no bytes.
  for (auto storage : entry.getBody().getOps<ArenaOpInterface>())
    storage.setOffset(0);
  for (auto [lifetime, offset] : llvm::zip_equal(*lifetimes, plan.offsets))
    lifetime.storage.setOffset(offset);
  entry.setArenaBytes(plan.bytes);
  entry.setAlignment(alignment);

  int64_t largestLiveSet = getLargestLiveSet(blocks);
  numAllocations += blocks.size();
  arenaBytes += plan.bytes;
  liveBytes += largestLiveSet;
  remark::analysis(entry.getLoc(), planMemoryRemarks("MemoryPlan"))
      << remark::add("@{0}: {1} allocations in an arena of {2} bytes; the largest live set is {3} bytes",
                     entry.getSymName().str(), blocks.size(), plan.bytes, largestLiveSet);
  return success();
}
