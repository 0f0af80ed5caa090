//===- ArenaPacking.cpp - Places blocks in an arena -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <limits>
#include <numeric>

using namespace cs336;
using namespace cs336::exec;

int64_t exec::getLargestLiveSet(llvm::ArrayRef<ArenaBlock> blocks) {
  // A block counts from the start of its first time to the end of its last.
  std::vector<std::pair<unsigned, int64_t>> changes;
  for (const ArenaBlock &block : blocks) {
    changes.push_back({2 * block.first, block.bytes});
    changes.push_back({2 * block.last + 1, -block.bytes});
  }
  llvm::sort(changes);
  int64_t live = 0, largest = 0;
  for (auto [time, change] : changes)
    largest = std::max(largest, live += change);
  return largest;
}

namespace {
/// A block with its offset.
struct Placed {
  int64_t offset, end;
  unsigned first, last, index;
};

/// Finds the smallest gap that holds `bytes` between occupied ranges.
class GapFinder {
public:
  explicit GapFinder(int64_t bytes) : bytes(bytes) {}

  /// Adds an occupied range. The ranges come by ascending offset.
  void addTaken(int64_t offset, int64_t end) {
    int64_t gap = offset - top;
    if (gap >= bytes && gap < bestGap) {
      bestGap = gap;
      best = top;
    }
    top = std::max(top, end);
  }
  /// Returns whether no other gap can fit better.
  bool isPerfect() const { return bestGap == bytes; }
  /// Returns the gap's offset, or the end of the last range if no gap is large enough.
  int64_t getOffset() const { return best < 0 ? top : best; }

private:
  int64_t bytes, top = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
};
} // namespace

static ArenaPlan placeInOrder(llvm::ArrayRef<ArenaBlock> blocks, llvm::ArrayRef<unsigned> order,
                              llvm::function_ref<bool(unsigned, unsigned)> interferes) {
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  // Sorted by offset: one pass over it finds the gaps. Blocks are plain data side by side, so the pass is quick.
  std::vector<Placed> placed;
  placed.reserve(blocks.size());
  for (unsigned index : order) {
    const ArenaBlock &block = blocks[index];
    GapFinder gaps(block.bytes);
    for (const Placed &other : placed) {
      bool conflicts = true;
      if (other.last < block.first)
        conflicts = interferes && interferes(other.index, index);
      else if (block.last < other.first)
        conflicts = interferes && interferes(index, other.index);
      if (!conflicts)
        continue;
      gaps.addTaken(other.offset, other.end);
      if (gaps.isPerfect())
        break;
    }
    Placed place{gaps.getOffset(), gaps.getOffset() + block.bytes, block.first, block.last, index};
    auto byOffset = [](const Placed &a, const Placed &b) { return a.offset < b.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), place, byOffset), place);
    plan.offsets[index] = place.offset;
    plan.bytes = std::max(plan.bytes, place.end);
  }
  return plan;
}

ArenaPlan exec::packArena(llvm::ArrayRef<ArenaBlock> blocks, llvm::function_ref<bool(unsigned, unsigned)> interferes) {
  auto duration = [&](unsigned index) { return static_cast<int64_t>(blocks[index].last) - blocks[index].first + 1; };
  using Less = std::function<bool(unsigned, unsigned)>;
  const Less largestFirst = [&](unsigned a, unsigned b) { return blocks[a].bytes > blocks[b].bytes; };
  const Less longestFirst = [&](unsigned a, unsigned b) { return duration(a) > duration(b); };
  const Less largestAreaFirst = [&](unsigned a, unsigned b) {
    // Bytes times time may exceed 64 bits for extreme programs. The comparison must be a strict order for them too.
    return static_cast<double>(blocks[a].bytes) * duration(a) > static_cast<double>(blocks[b].bytes) * duration(b);
  };

  int64_t bound = getLargestLiveSet(blocks);
  ArenaPlan best;
  for (const Less &less : {largestFirst, largestAreaFirst, longestFirst}) {
    llvm::SmallVector<unsigned> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::stable_sort(order, less);
    ArenaPlan plan = placeInOrder(blocks, order, interferes);
    if (best.offsets.empty() || plan.bytes < best.bytes)
      best = std::move(plan);
    if (best.bytes == bound)
      break;
  }
  return best;
}
