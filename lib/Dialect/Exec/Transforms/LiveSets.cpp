//===- LiveSets.cpp - Live sets of an entry as commands move --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/LiveSets.h"

#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

LiveSets::LiveSets(ArrayRef<CommandOpInterface> commands)
    : places(llvm::to_vector(llvm::seq<unsigned>(0, commands.size()))) {
  for (auto [position, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    auto use = [&, position = position](Value buffer) {
      if (auto storage = dyn_cast<ArenaOpInterface>(getStorage(buffer).getOperation()))
        uses[storage].push_back(position);
    };
    llvm::for_each(command.getReads(), use);
    llvm::for_each(command.getWrites(), use);
  }
  largest = computeLargest(places);
}

int64_t LiveSets::computeLargest(ArrayRef<unsigned> newPlaces) const {
  std::vector<ArenaBlock> blocks;
  for (const auto &[used, positions] : uses) {
    ArenaOpInterface storage = used;
    ArenaBlock &block = blocks.emplace_back(ArenaBlock{getStorageBytes(storage.getBuffer().getType()), ~0u, 0u});
    if (storage.outlivesCommands())
      block.last = newPlaces.size();
    for (unsigned position : positions) {
      block.first = std::min(block.first, newPlaces[position]);
      block.last = std::max(block.last, newPlaces[position]);
    }
  }
  return getLargestLiveSet(blocks);
}

bool LiveSets::tryMove(ArrayRef<unsigned> newPlaces, int64_t growth) {
  if (computeLargest(newPlaces) > largest + growth)
    return false;
  places.assign(newPlaces.begin(), newPlaces.end());
  return true;
}

bool LiveSets::tryMoveToLast(ArrayRef<unsigned> positions) {
  SmallVector<unsigned> moved(places);
  for (unsigned position : positions)
    moved[position] = places[positions.back()];
  return tryMove(moved);
}
