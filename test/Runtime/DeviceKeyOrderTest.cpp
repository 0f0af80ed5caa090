//===- DeviceKeyOrderTest.cpp - warpgroup_key_order.cuh of runtime/kernels ===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which blocks take tiles of keys and add to dQ, compiled for the host.
//
//===----------------------------------------------------------------------===//

#include "cuda_on_host.h"

#include "scalar.cuh"

#include "attention.cuh"
#include "warpgroup_key_order.cuh"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

namespace {

constexpr int kQueriesPerTile = 64, kKeysPerTile = 128;

template <int numBatches, int numQueryHeads, int numKeyHeads, int numQueries, int numKeys, bool causal, int perGroup>
struct Problem {
  static constexpr int batches = numBatches, queryHeads = numQueryHeads, keyHeads = numKeyHeads;
  static constexpr int queries = numQueries, keys = numKeys;
  static constexpr bool isCausal = causal;
  using Tile = KeyTile<Problem, kQueriesPerTile, kKeysPerTile, perGroup>;
};

/// The same with a score function that shows pairs at distances from `first` to `last`.
template <int numQueries, int numKeys, int first, int last, int perGroup>
struct WindowProblem : Problem<1, 4, 2, numQueries, numKeys, false, perGroup> {
  struct Score {
    static constexpr bool exists = true;
    static constexpr int firstDistance = first, lastDistance = last;
  };
  using Tile = KeyTile<WindowProblem, kQueriesPerTile, kKeysPerTile, perGroup>;
};

/// Returns whether a query of the tile may see a key of the tile.
template <class Problem>
bool canSee(int queryTile, int firstKey) {
  for (int query = queryTile * kQueriesPerTile; query < (queryTile + 1) * kQueriesPerTile; ++query)
    for (int key = firstKey; key < firstKey + kKeysPerTile; ++key)
      if constexpr (ScoreOf<Problem>::exists) {
        if (query - key >= Problem::Score::firstDistance && query - key <= Problem::Score::lastDistance)
          return true;
      } else if (!Problem::isCausal || key <= query) {
        return true;
      }
  return false;
}

template <class Problem>
class KeyOrderTest : public testing::Test {};

using Problems = testing::Types<Problem<1, 4, 4, 1000, 1000, true, 2>, Problem<2, 4, 2, 640, 640, false, 1>,
                                Problem<1, 3, 3, 200, 1000, true, 1>, Problem<3, 2, 1, 1000, 200, true, 2>,
                                Problem<1, 1, 1, 512, 512, true, 1>, Problem<5, 1, 1, 65, 129, true, 3>,
                                WindowProblem<1000, 1000, 0, 200, 1>, WindowProblem<1000, 1000, -70, 64, 2>,
                                WindowProblem<300, 1000, -700, -400, 1>, WindowProblem<1000, 200, 1, 63, 1>,
                                WindowProblem<640, 640, -639, 639, 1>, WindowProblem<640, 640, 128, 500, 1>>;
TYPED_TEST_SUITE(KeyOrderTest, Problems);

/// A query head's tile of queries.
using Sum = std::tuple<int, int, int>;

TYPED_TEST(KeyOrderTest, TakesEachTileOnce) {
  using Tile = typename TypeParam::Tile;
  std::vector<std::tuple<int, int, int>> tiles;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    tiles.emplace_back(tile.batch, tile.head, tile.first);
  }
  std::sort(tiles.begin(), tiles.end());
  std::vector<std::tuple<int, int, int>> expected;
  for (int batch = 0; batch < TypeParam::batches; ++batch)
    for (int head = 0; head < TypeParam::keyHeads; ++head)
      for (int first = 0; first < TypeParam::keys; first += kKeysPerTile)
        expected.emplace_back(batch, head, first);
  EXPECT_EQ(tiles, expected);
}

TYPED_TEST(KeyOrderTest, VisitsTheQueriesThatSeeAKeyOnce) {
  using Tile = typename TypeParam::Tile;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    std::vector<int> visited, expected;
    for (int left = tile.queryTilesPerHead; left > 0; --left)
      visited.push_back(tile.getQueryTile(left));
    std::sort(visited.begin(), visited.end());
    for (int i = 0; i * kQueriesPerTile < TypeParam::queries; ++i)
      if (canSee<TypeParam>(i, tile.first))
        expected.push_back(i);
    EXPECT_EQ(visited, expected) << "tile " << number;
  }
}

/// The turns of a sum are 0, 1, …, and in the order of the numbers of tiles, so that no block waits for a later one.
TYPED_TEST(KeyOrderTest, TurnsFollowTheNumbersOfTiles) {
  using Tile = typename TypeParam::Tile;
  std::map<Sum, std::vector<int>> turns;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int member = 0; member < Tile::members; ++member)
      for (int left = tile.queryTilesPerHead; left > 0; --left) {
        const int queryTile = tile.getQueryTile(left);
        turns[{tile.batch, tile.head * Tile::members + member, queryTile}].push_back(tile.getTurn(queryTile));
      }
  }
  for (int i = 0; i < Tile::queryTiles; ++i) {
    bool isSummed = false;
    for (int first = 0; first < TypeParam::keys; first += kKeysPerTile)
      isSummed |= canSee<TypeParam>(i, first);
    EXPECT_EQ(turns.count({0, 0, i}), isSummed) << "queries " << i;
    // The function that rounds dQ asks this.
    EXPECT_EQ(VisiblePairs<TypeParam>::canSee(i * kQueriesPerTile, (i + 1) * kQueriesPerTile, 0, TypeParam::keys),
              isSummed)
        << "queries " << i;
  }
  for (const auto &[sum, ofSum] : turns) {
    std::vector<int> expected(ofSum.size());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(ofSum, expected) << "queries " << std::get<2>(sum) << " of head " << std::get<1>(sum);
  }
}

/// With a causal mask, the distance says which tiles have masked keys.
TYPED_TEST(KeyOrderTest, DistancesAreFromTheFirstQueriesThatSeeAKey) {
  using Tile = typename TypeParam::Tile;
  if (!TypeParam::isCausal)
    return;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int left = tile.queryTilesPerHead; left > 0; --left)
      EXPECT_EQ(Tile::getDistance(left, tile.isBackwards ? 1 : tile.queryTilesPerHead),
                tile.getQueryTile(left) - tile.first / kQueriesPerTile);
  }
}

} // namespace
