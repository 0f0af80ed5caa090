//===- DeviceTileSchedulerTest.cpp - Which tiles a block computes ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tile_queue.cuh, query_tile.cuh and key_gradient_tile.cuh of runtime/kernels, compiled for the host.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupText.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace {

//===----------------------------------------------------------------------===//
// tile_queue.cuh
//===----------------------------------------------------------------------===//

/// Returns the tiles of each block of a grid.
template <int count>
std::vector<std::vector<int>> takeTiles(int blocks) {
  std::vector<std::vector<int>> tiles(blocks);
  gridDim = {static_cast<unsigned>(blocks), 1, 1};
  for (int block = 0; block < blocks; ++block) {
    blockIdx = {static_cast<unsigned>(block), 0, 0};
    TileQueue<count> queue;
    for (int tile; queue.next(tile);)
      tiles[block].push_back(tile);
  }
  return tiles;
}

template <int count>
void checkEachTileIsTakenOnce() {
  std::vector<int> expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  for (int blocks : {1, 2, 3, 7, 131, 132, 133, 264, 1000}) {
    std::vector<int> taken;
    for (const std::vector<int> &ofBlock : takeTiles<count>(blocks)) {
      EXPECT_TRUE(std::is_sorted(ofBlock.begin(), ofBlock.end())) << "the longest tiles come first";
      taken.insert(taken.end(), ofBlock.begin(), ofBlock.end());
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, expected) << count << " tiles, " << blocks << " blocks";
  }
}

TEST(TileQueueTest, TakesEachTileOnce) {
  checkEachTileIsTakenOnce<0>();
  checkEachTileIsTakenOnce<1>();
  checkEachTileIsTakenOnce<2>();
  checkEachTileIsTakenOnce<132>();
  checkEachTileIsTakenOnce<133>();
  checkEachTileIsTakenOnce<1000>();
}

TEST(TileQueueTest, BlocksGetEqualWork) {
  constexpr int rounds = 4, blocks = 33;
  // The work of tiles falls linearly, as with a causal mask.
  for (const std::vector<int> &ofBlock : takeTiles<rounds * blocks>(blocks))
    EXPECT_EQ(std::accumulate(ofBlock.begin(), ofBlock.end(), 0), rounds * (rounds * blocks - 1) / 2);
}

TEST(SharedTileQueueTest, BlocksTakeEachTileOnceInAnyOrder) {
  constexpr int count = 100;
  std::mt19937 random(1);
  for (int blocks : {1, 3, count - 1, count, 2 * count}) {
    gridDim = {static_cast<unsigned>(blocks), 1, 1};
    unsigned taken = 0;
    std::vector<SharedTileQueue<count>> queues(blocks, SharedTileQueue<count>(&taken));
    std::vector<int> running(blocks), tiles;
    std::iota(running.begin(), running.end(), 0);
    while (!running.empty()) {
      const size_t next = random() % running.size();
      blockIdx = {static_cast<unsigned>(running[next]), 0, 0};
      if (int tile; queues[running[next]].next(tile))
        tiles.push_back(tile);
      else
        running.erase(running.begin() + next);
    }
    std::sort(tiles.begin(), tiles.end());
    std::vector<int> expected(count);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(tiles, expected) << blocks << " blocks";
  }
}

//===----------------------------------------------------------------------===//
// query_tile.cuh
//===----------------------------------------------------------------------===//

constexpr int kQueriesPerTile = 128, kKeysPerTile = 96;

template <class Problem>
class QueryTileTest : public testing::Test {};

template <int... numbers>
using Causal = HostProblem<numbers..., 64, true>;
template <int... numbers>
using Full = HostProblem<numbers..., 64, false>;
using Problems =
    testing::Types<Causal<2, 4, 2, 600, 600>, Full<1, 3, 1, 300, 333>, Causal<1, 2, 2, 1000, 200>,
                   Causal<1, 2, 2, 200, 1000>, Full<1, 1, 1, 1, 1>, Causal<1, 1, 1, 128, 96>,
                   WindowProblem<Full<2, 2, 1, 700, 700>, 9, 0>, WindowProblem<Causal<1, 2, 2, 700, 700>, 300, 0>,
                   WindowProblem<Full<1, 2, 2, 300, 900>, 20, 500>, WindowProblem<Full<1, 1, 1, 900, 100>, 40, 0>>;
TYPED_TEST_SUITE(QueryTileTest, Problems);

TYPED_TEST(QueryTileTest, NumbersEachTileOnce) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  std::vector<std::tuple<int, int, int>> tiles, expected;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    tiles.emplace_back(tile.batch, tile.head, tile.first);
    EXPECT_EQ(tile.keyHead, tile.head * TypeParam::keyHeads / TypeParam::queryHeads);
  }
  std::sort(tiles.begin(), tiles.end());
  for (int batch = 0; batch < TypeParam::batches; ++batch)
    for (int head = 0; head < TypeParam::queryHeads; ++head)
      for (int first = 0; first < TypeParam::queries; first += kQueriesPerTile)
        expected.emplace_back(batch, head, first);
  EXPECT_EQ(tiles, expected);
}

/// The rows without a query come first, in multiples of those of a warpgroup.
TYPED_TEST(QueryTileTest, LastTileIsFull) {
  constexpr int queriesPerTile = 192;
  using Tile = QueryTile<TypeParam, queriesPerTile, kKeysPerTile, TypeParam::batches * TypeParam::queryHeads,
                         /*lastIsFull=*/true>;
  static_assert(Tile::missing % 64 == 0);
  std::set<std::tuple<int, int, int>> tiles;
  int last = -queriesPerTile;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    EXPECT_EQ((tile.first + Tile::missing) % queriesPerTile, 0);
    EXPECT_GE(tile.first, -Tile::missing);
    EXPECT_GT(tile.first + queriesPerTile, 0) << "tile " << number;
    EXPECT_GE(tile.keyTiles, 1);
    tiles.emplace(tile.batch, tile.head, tile.first);
    last = std::max(last, tile.first);
  }
  EXPECT_EQ(static_cast<int>(tiles.size()), Tile::count);
  EXPECT_GE(last + queriesPerTile, TypeParam::queries);
  EXPECT_LT(last + queriesPerTile, TypeParam::queries + 64);
}

TYPED_TEST(QueryTileTest, LongestTilesComeFirstIfCausal) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  if (!TypeParam::isCausal || ScoreOf<TypeParam>::exists)
    return;
  for (int number = 1; number < Tile::count; ++number)
    EXPECT_LE(Tile(number).keyTiles, Tile(number - 1).keyTiles) << "tile " << number;
}

/// Returns the heads of all batches of the tiles from `begin` to `end` - 1.
template <class Tile, class Problem>
std::set<int> findHeads(int begin, int end) {
  std::set<int> heads;
  for (int number = begin; number < end; ++number) {
    const Tile tile(number);
    heads.insert(tile.batch * Problem::queryHeads + tile.head);
  }
  return heads;
}

TEST(QueryTileGroupsTest, FollowEachOther) {
  using Problem = Causal<2, 4, 2, 600, 600>;
  using Tile = QueryTile<Problem, kQueriesPerTile, kKeysPerTile, 3>;
  constexpr int ofGroup = 3 * Tile::perHead;
  EXPECT_EQ((findHeads<Tile, Problem>(0, ofGroup)), (std::set<int>{0, 1, 2}));
  EXPECT_EQ((findHeads<Tile, Problem>(ofGroup, 2 * ofGroup)), (std::set<int>{3, 4, 5}));
  EXPECT_EQ((findHeads<Tile, Problem>(2 * ofGroup, Tile::count)), (std::set<int>{6, 7}));
  std::set<std::pair<int, int>> tiles;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    tiles.emplace(tile.batch * Problem::queryHeads + tile.head, tile.first);
    // The last group begins with the longest tiles, and the direction changes from group to group.
    if (number % ofGroup == 0)
      continue;
    if (number / ofGroup == 1)
      EXPECT_GE(tile.keyTiles, Tile(number - 1).keyTiles) << "tile " << number;
    else
      EXPECT_LE(tile.keyTiles, Tile(number - 1).keyTiles) << "tile " << number;
  }
  EXPECT_EQ(static_cast<int>(tiles.size()), Tile::count);
}

TEST(QueryTileGroupsTest, GiveBlocksEqualWork) {
  using Problem = HostProblem<4, 16, 16, 4096, 4096, 128, true>;
  using Tile = QueryTile<Problem, 128, 128, 8>;
  constexpr int blocks = 132;
  int most = 0, all = 0;
  for (const std::vector<int> &ofBlock : takeTiles<Tile::count>(blocks)) {
    int steps = 0;
    for (int number : ofBlock)
      steps += 1 + Tile(number).keyTiles;
    most = std::max(most, steps);
    all += steps;
  }
  EXPECT_LE(most * blocks, 1.01 * all);
}

/// The tiles of keys are those from the first to the last that some row sees, or one if the rows see nothing.
TYPED_TEST(QueryTileTest, SkipsTilesOfKeysThatNoQuerySees) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    std::vector<int> seen;
    for (int key = 0; key < TypeParam::keys; ++key)
      for (int query = tile.first; query < tile.first + kQueriesPerTile; ++query)
        if (isVisible<TypeParam>(query, key)) {
          seen.push_back(key / kKeysPerTile);
          break;
        }
    ASSERT_GE(tile.keyTiles, 1);
    const int first = tile.getFirstKey(0) / kKeysPerTile, last = tile.getFirstKey(tile.keyTiles - 1) / kKeysPerTile;
    EXPECT_EQ(tile.getFirstKey(0) % kKeysPerTile, 0);
    if (seen.empty()) {
      EXPECT_EQ(first, last);
    } else {
      EXPECT_EQ(first, seen.front()) << "queries from " << tile.first;
      EXPECT_EQ(last, seen.back()) << "queries from " << tile.first;
    }
    EXPECT_LT(last * kKeysPerTile, TypeParam::keys);
  }
}

//===----------------------------------------------------------------------===//
// key_gradient_tile.cuh
//===----------------------------------------------------------------------===//

template <class Problem>
class KeyGradientTileTest : public testing::Test {};

using GradientProblems = testing::Types<Causal<2, 4, 2, 600, 601>, Full<1, 3, 1, 300, 333>, Causal<1, 2, 2, 200, 1000>,
                                        Causal<1, 6, 2, 1000, 200>, Full<1, 1, 1, 1, 1>>;
TYPED_TEST_SUITE(KeyGradientTileTest, GradientProblems);

constexpr int kOwnKeys = 128, kStreamedQueries = 64;

TYPED_TEST(KeyGradientTileTest, NumbersEachTileOnceAndTheLongestFirst) {
  using Tile = KeyGradientTile<TypeParam, kOwnKeys, kStreamedQueries>;
  std::vector<std::tuple<int, int, int>> tiles, expected;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    tiles.emplace_back(tile.batch, tile.head, tile.first);
    EXPECT_LE(tile.perHead, Tile(number == 0 ? 0 : number - 1).perHead);
  }
  std::sort(tiles.begin(), tiles.end());
  for (int batch = 0; batch < TypeParam::batches; ++batch)
    for (int head = 0; head < TypeParam::keyHeads; ++head)
      for (int first = 0; first < TypeParam::keys; first += kOwnKeys)
        expected.emplace_back(batch, head, first);
  EXPECT_EQ(tiles, expected);
}

/// Per query head of the group, the steps visit the tiles of queries that see some of the keys, in order.
TYPED_TEST(KeyGradientTileTest, VisitsTheQueriesThatSeeAKeyOncePerHead) {
  using Tile = KeyGradientTile<TypeParam, kOwnKeys, kStreamedQueries>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    std::vector<int> visited, expected;
    for (int step = 0; step < Tile::group * tile.perHead; ++step)
      visited.push_back(tile.getQueryTile(step));
    for (int member = 0; member < TypeParam::queryHeads / TypeParam::keyHeads; ++member)
      for (int i = 0; i * kStreamedQueries < TypeParam::queries; ++i)
        if (isVisible<TypeParam>(i * kStreamedQueries + kStreamedQueries - 1, tile.first))
          expected.push_back(i);
    EXPECT_EQ(visited, expected) << "tile " << number;
  }
}

} // namespace
