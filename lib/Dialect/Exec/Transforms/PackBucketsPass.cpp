//===- PackBucketsPass.cpp - One range for the operands of a collective ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignment.h"
#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace cs336::exec {
#define GEN_PASS_DEF_PACKBUCKETSPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions packBucketsRemarks("exec-pack-buckets");

namespace {
/// Operands of a collective that become parts of one allocation, in the order of the parts.
struct Range {
  Type elementType;
  SmallVector<AllocOp> allocs;
  int64_t bytes = 0;
};

/// The times at which storage in the arena is in use, updated as allocations become parts of others.
class LiveBlocks {
public:
  LiveBlocks(ArrayRef<Lifetime> lifetimes, int64_t alignment);

  /// Returns the block that all allocations of the range would be.
  ArenaBlock merge(const Range &range) const;
  /// Returns the largest live set if the allocations of the range were this block.
  int64_t getLargestWith(const Range &range, const ArenaBlock &merged) const;
  int64_t getLargest() const { return getLargestWith({}, {}); }
  void replace(const Range &range, AllocOp by, const ArenaBlock &merged);

private:
  int64_t alignment;
  llvm::MapVector<Operation *, ArenaBlock> blocks;
};

struct PackBucketsPass : exec::impl::PackBucketsPassBase<PackBucketsPass>, CountingPass {
  using PackBucketsPassBase::PackBucketsPassBase;

  void runOnOperation() override {
    if (failed(pack()))
      signalPassFailure();
  }

private:
  LogicalResult pack();
  SmallVector<Range> findRanges(CollectiveOp collective);
  void pack(CollectiveOp collective, const Range &range, LiveBlocks &blocks, int64_t bound);

  PassCounter numRanges{this, "num-ranges", "Number of allocations with several parts"};
  PassCounter numParts{this, "num-parts", "Number of allocations that became parts"};
};
} // namespace

//===----------------------------------------------------------------------===//
// Live sets
//===----------------------------------------------------------------------===//

LiveBlocks::LiveBlocks(ArrayRef<Lifetime> lifetimes, int64_t alignment) : alignment(alignment) {
  for (const Lifetime &lifetime : lifetimes)
    blocks[lifetime.storage] = {static_cast<int64_t>(llvm::alignTo(lifetime.bytes, alignment)), lifetime.first,
                                lifetime.last};
}

ArenaBlock LiveBlocks::merge(const Range &range) const {
  ArenaBlock merged = blocks.lookup(range.allocs.front());
  for (AllocOp alloc : range.allocs) {
    ArenaBlock block = blocks.lookup(alloc);
    merged.first = std::min(merged.first, block.first);
    merged.last = std::max(merged.last, block.last);
  }
  merged.bytes = static_cast<int64_t>(llvm::alignTo(range.bytes, alignment));
  return merged;
}

int64_t LiveBlocks::getLargestWith(const Range &range, const ArenaBlock &merged) const {
  std::vector<ArenaBlock> all;
  for (const auto &[storage, block] : blocks)
    if (!llvm::is_contained(range.allocs, storage))
      all.push_back(block);
  if (!range.allocs.empty())
    all.push_back(merged);
  return getLargestLiveSet(all);
}

void LiveBlocks::replace(const Range &range, AllocOp by, const ArenaBlock &merged) {
  blocks.remove_if([&](const auto &entry) { return llvm::is_contained(range.allocs, entry.first); });
  blocks[by] = merged;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Returns the allocation whose elements the buffer has all, in order, or null.
static AllocOp getWholeAllocation(Value buffer) {
  auto alloc = dyn_cast_if_present<AllocOp>(getStorage(buffer).getOperation());
  MemRefType type = bufferType(buffer);
  bool isWhole = alloc && type.getLayout().isIdentity() && type.getNumElements() == alloc.getType().getNumElements();
  return isWhole ? alloc : AllocOp();
}

SmallVector<Range> PackBucketsPass::findRanges(CollectiveOp collective) {
  llvm::MapVector<Type, Range> ranges;
  // The first operand of each type after which no other part could be aligned.
  llvm::DenseMap<Type, AllocOp> last;
  for (auto [source, target] : llvm::zip_equal(collective.getSources(), collective.getTargets())) {
    AllocOp alloc = source == target ? getWholeAllocation(source) : AllocOp();
    if (!alloc)
      continue;
    Type type = alloc.getType().getElementType();
    int64_t bytes = getStorageBytes(alloc.getType());
    if (bytes % static_cast<int64_t>(alignment) != 0) {
      last.try_emplace(type, alloc);
      continue;
    }
    Range &range = ranges[type];
    range.elementType = type;
    range.allocs.push_back(alloc);
    range.bytes += bytes;
  }
  SmallVector<Range> result;
  for (auto &[type, range] : ranges) {
    if (AllocOp odd = last.lookup(type)) {
      range.allocs.push_back(odd);
      range.bytes += getStorageBytes(odd.getType());
    }
    if (range.allocs.size() > 1)
      result.push_back(std::move(range));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Moves all views of `buffer`, and views of these, by `elements`.
static void shiftViews(Value buffer, int64_t elements) {
  for (Operation *user : buffer.getUsers())
    if (auto view = dyn_cast<ViewOp>(user)) {
      BufferLayout layout(view.getType());
      layout.offset += elements;
      view.getResult().setType(layout.getType());
      shiftViews(view, elements);
    }
}

/// Creates an allocation before the first of those in the range, and replaces these with views of it.
static AllocOp createAllocation(const Range &range, Location loc) {
  AllocOp first = range.allocs.front();
  for (AllocOp alloc : range.allocs)
    if (alloc->isBeforeInBlock(first))
      first = alloc;
  int64_t elementBytes = getElementBytes(range.elementType);
  OpBuilder builder(first);
  auto packed = AllocOp::create(builder, loc, MemRefType::get({range.bytes / elementBytes}, range.elementType),
                                /*offset=*/IntegerAttr());
  int64_t offset = 0;
  for (AllocOp alloc : range.allocs) {
    shiftViews(alloc, offset);
    BufferLayout layout(alloc.getType());
    layout.offset = offset;
    builder.setInsertionPoint(alloc);
    auto view = ViewOp::create(builder, alloc.getLoc(), layout.getType(), packed);
    alloc.replaceAllUsesWith(view.getResult());
    offset += alloc.getType().getNumElements();
  }
  return packed;
}

/// Replaces the operands that are views of the allocation with the allocation, at the position of the first of them.
static void replaceOperands(CollectiveOp collective, AllocOp packed) {
  SmallVector<Value> sources, targets, replaced;
  for (auto [source, target] : llvm::zip_equal(collective.getSources(), collective.getTargets())) {
    bool isPart = getStorage(source) == packed;
    if (isPart)
      replaced.push_back(source);
    if (isPart && replaced.size() > 1)
      continue;
    sources.push_back(isPart ? packed.getResult() : source);
    targets.push_back(isPart ? packed.getResult() : target);
  }
  collective.getSourcesMutable().assign(sources);
  collective.getTargetsMutable().assign(targets);
  for (Value buffer : replaced)
    if (auto view = buffer.getDefiningOp<ViewOp>(); view && view->use_empty())
      view.erase();
}

void PackBucketsPass::pack(CollectiveOp collective, const Range &range, LiveBlocks &blocks, int64_t bound) {
  std::string name = collective.getCommandName();
  ArenaBlock merged = blocks.merge(range);
  if (int64_t largest = blocks.getLargestWith(range, merged); largest > bound) {
    remark::missed(collective.getLoc(), packBucketsRemarks("KeptApart"))
        << remark::add("{0}: {1} operands stay apart: in one range they would raise the largest live set from {2} to "
                       "{3} bytes",
                       name, range.allocs.size(), bound, largest);
    return;
  }
  AllocOp packed = createAllocation(range, collective.getLoc());
  blocks.replace(range, packed, merged);
  replaceOperands(collective, packed);
  for (AllocOp alloc : range.allocs)
    alloc.erase();
  ++numRanges;
  numParts += range.allocs.size();
  remark::passed(collective.getLoc(), packBucketsRemarks("Packed"))
      << remark::add("{0}: {1} operands are one range of {2} bytes", name, range.allocs.size(), range.bytes);
}

LogicalResult PackBucketsPass::pack() {
  EntryOp entry = getOperation();
  if (failed(verifyAlignment(entry, alignment)))
    return failure();
  SmallVector<CollectiveOp> collectives;
  for (auto collective : entry.getBody().getOps<CollectiveOp>())
    if (collective.getKind() == CollectiveKind::AllReduce && collective.getSources().size() > 1)
      collectives.push_back(collective);
  if (collectives.empty())
    return success();
  HappensBefore order(entry);
  FailureOr<std::vector<Lifetime>> lifetimes = computeLifetimes(entry, order);
  if (failed(lifetimes))
    return failure();
  LiveBlocks blocks(*lifetimes, static_cast<int64_t>(alignment));
  int64_t bound = blocks.getLargest();
  for (CollectiveOp collective : collectives)
    for (const Range &range : findRanges(collective))
      pack(collective, range, blocks, bound);
  return success();
}
