//===- ArenaPackingTest.cpp - Arenas of random programs -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/ArenaPacking.h"

#include "gtest/gtest.h"

#include <random>

namespace cs336::exec {
namespace {

bool IsSameTime(const ArenaBlock &a, const ArenaBlock &b) { return a.first <= b.last && b.first <= a.last; }

void ExpectNoOverlap(const std::vector<ArenaBlock> &blocks, const ArenaPlan &plan,
                     llvm::function_ref<bool(unsigned, unsigned)> interferes) {
  ASSERT_EQ(plan.offsets.size(), blocks.size());
  for (unsigned i = 0; i < blocks.size(); ++i) {
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + blocks[i].bytes, plan.bytes);
    for (unsigned j = 0; j < i; ++j) {
      bool isEarlier = blocks[i].last < blocks[j].first;
      if (!IsSameTime(blocks[i], blocks[j]) && !interferes(isEarlier ? i : j, isEarlier ? j : i))
        continue;
      EXPECT_TRUE(plan.offsets[i] + blocks[i].bytes <= plan.offsets[j] ||
                  plan.offsets[j] + blocks[j].bytes <= plan.offsets[i])
          << "blocks " << i << " and " << j;
    }
  }
}

TEST(ArenaPackingTest, NothingTakesNothing) {
  EXPECT_EQ(packArena({}, [](unsigned, unsigned) { return true; }).bytes, 0);
}

TEST(ArenaPackingTest, RandomBlocksDoNotOverlap) {
  std::mt19937 random(1);
  auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % most); };
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBlock> blocks;
    for (int i = 0; i < 100; ++i) {
      unsigned first = draw(200);
      blocks.push_back({64 * (1 + draw(100)), first, first + static_cast<unsigned>(draw(30))});
    }
    // Streams that do not wait for each other: every third pair cannot share bytes at any time.
    auto interferes = [](unsigned earlier, unsigned later) { return (earlier + later) % 3 == 0; };
    ArenaPlan plan = packArena(blocks, interferes);
    ExpectNoOverlap(blocks, plan, interferes);
    for (int64_t offset : plan.offsets)
      EXPECT_EQ(offset % 64, 0);
    EXPECT_GE(plan.bytes, getLargestLiveSet(blocks));
  }
}

// Layers as in training: activations that live until their layer's backward pass, and short-lived values around them.
TEST(ArenaPackingTest, ATrainingStepComesCloseToItsLargestLiveSet) {
  std::mt19937 random(2);
  constexpr unsigned kLayers = 40, kCommands = 20;
  std::vector<ArenaBlock> blocks;
  for (unsigned layer = 0; layer < kLayers; ++layer) {
    unsigned forward = layer * kCommands, backward = (2 * kLayers - 1 - layer) * kCommands;
    for (unsigned command = 0; command < kCommands; ++command) {
      int64_t bytes = 64 * (1 + random() % 5000);
      blocks.push_back(
          {bytes, forward + command, command % 3 ? forward + command + 2 : backward + kCommands - command});
      blocks.push_back({bytes, backward + command, backward + command + 1 + static_cast<unsigned>(random() % 4)});
    }
  }
  auto never = [](unsigned, unsigned) { return false; };
  ArenaPlan plan = packArena(blocks, never);
  ExpectNoOverlap(blocks, plan, never);
  EXPECT_LE(plan.bytes, getLargestLiveSet(blocks) * 110 / 100);
  EXPECT_EQ(packArena(blocks, nullptr).offsets, plan.offsets);
}

TEST(ArenaPackingTest, TheLargestLiveSetCountsBothEnds) {
  // The second starts where the first ends, the third after it.
  std::vector<ArenaBlock> blocks = {{100, 0, 5}, {10, 5, 6}, {1000, 6, 9}, {1, 7, 8}};
  EXPECT_EQ(getLargestLiveSet(blocks), 1010);
}

} // namespace
} // namespace cs336::exec
