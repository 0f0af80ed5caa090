//===- DeviceHiddenTilesTest.cpp - Tiles that data hides ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with documents and lengths: results against float64, and the number of tiles that kernels copy.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupKernels.h"

#include <climits>
#include <numeric>

namespace {

//===----------------------------------------------------------------------===//
// pair_tile.cuh
//===----------------------------------------------------------------------===//

TEST(PairTileTest, IntervalsContainAllResults) {
  const Interval intervals[] = {{0, 0}, {-2, 1}, {1, 3}, {3, 3}, {INT_MIN, INT_MIN + 1}, {INT_MAX - 1, INT_MAX}};
  for (const Interval &a : intervals)
    for (const Interval &b : intervals) {
      Outcomes equal{false, false}, less{false, false};
      const Interval sum = add(a, b), difference = subtract(a, b);
      auto record = [](Outcomes &outcomes, bool holds) { (holds ? outcomes.canHold : outcomes.canFail) = true; };
      auto contains = [](const Interval &interval, unsigned value) {
        const auto number = static_cast<int>(value);
        return interval.first <= number && number <= interval.last;
      };
      for (long long x = a.first; x <= a.last; ++x)
        for (long long y = b.first; y <= b.last; ++y) {
          record(equal, x == y);
          record(less, x < y);
          // Operations of 32 bits wrap around.
          EXPECT_TRUE(contains(sum, static_cast<unsigned>(x) + static_cast<unsigned>(y)));
          EXPECT_TRUE(contains(difference, static_cast<unsigned>(x) - static_cast<unsigned>(y)));
        }
      auto expectEqual = [](Outcomes actual, Outcomes expected) {
        EXPECT_EQ(actual.canHold, expected.canHold);
        EXPECT_EQ(actual.canFail, expected.canFail);
      };
      expectEqual(areEqual(a, b), equal);
      expectEqual(isLess(a, b), less);
    }
  EXPECT_EQ(add({1, 2}, {3, 5}).first, 4);
  EXPECT_EQ(add({1, 2}, {3, 5}).last, 7);
  EXPECT_EQ(subtract({1, 2}, {3, 5}).first, -4);
  EXPECT_EQ(subtract({1, 2}, {3, 5}).last, -1);
}

TEST(PairTileTest, LogicOfOutcomes) {
  const Outcomes all[] = {{true, false}, {false, true}, {true, true}};
  auto getResults = [](Outcomes outcomes) {
    std::vector<bool> results;
    if (outcomes.canHold)
      results.push_back(true);
    if (outcomes.canFail)
      results.push_back(false);
    return results;
  };
  auto expect = [&](Outcomes actual, auto operation, auto... operands) {
    Outcomes expected{false, false};
    auto visit = [&](auto &&self, auto chosen, auto next, auto... rest) -> void {
      for (bool value : getResults(next))
        if constexpr (sizeof...(rest) == 0)
          (std::apply(operation, std::tuple_cat(chosen, std::tuple(value))) ? expected.canHold : expected.canFail) =
              true;
        else
          self(self, std::tuple_cat(chosen, std::tuple(value)), rest...);
    };
    visit(visit, std::tuple<>(), operands...);
    EXPECT_EQ(actual.canHold, expected.canHold);
    EXPECT_EQ(actual.canFail, expected.canFail);
  };
  for (Outcomes a : all) {
    expect(opposite(a), [](bool x) { return !x; }, a);
    for (Outcomes b : all) {
      expect(both(a, b), [](bool x, bool y) { return x && y; }, a, b);
      expect(either(a, b), [](bool x, bool y) { return x || y; }, a, b);
      for (Outcomes c : all)
        expect(choose(a, b, c), [](bool x, bool y, bool z) { return x ? y : z; }, a, b, c);
    }
  }
}

//===----------------------------------------------------------------------===//
// tile_mask.cuh
//===----------------------------------------------------------------------===//

template <int tiles>
void checkSeenTiles(std::mt19937 &random, bool isEmpty) {
  TileBits row[countTiles(tiles, 32)];
  std::vector<int> expected;
  for (unsigned word = 0; word < std::size(row); ++word) {
    row[word] = {0, static_cast<unsigned>(random()), static_cast<unsigned>(expected.size())};
    for (int tile = 32 * word; tile < std::min<int>(tiles, 32 * word + 32); ++tile)
      if (!isEmpty && random() % 4 == 0) {
        row[word].seen |= 1u << tile % 32;
        expected.push_back(tile);
      }
  }
  for (bool isDescending : {false, true}) {
    SeenTiles<tiles> seen(row, isDescending);
    EXPECT_EQ(seen.count(), expected.size());
    std::vector<int> taken;
    for (VisitedTile tile; seen.take(tile);) {
      EXPECT_EQ(seen.countBefore(tile.number), isDescending ? expected.size() - 1 - taken.size() : taken.size());
      EXPECT_EQ(tile.isWhole(), row[tile.number / 32].whole >> tile.number % 32 & 1);
      taken.push_back(tile.number);
    }
    EXPECT_EQ(taken, expected);
    std::reverse(expected.begin(), expected.end());
  }
}

TEST(SeenTilesTest, TakesEachSeenTileOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    checkSeenTiles<1>(random, round == 0);
    checkSeenTiles<33>(random, round == 0);
    checkSeenTiles<100>(random, round == 0);
    checkSeenTiles<128>(random, round == 0);
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Documents of 70, 200 and the rest of the positions; other batches are shifted. One document is empty.
int getSortedId(int batch, int position) {
  const int at = position + 40 * batch;
  return at < 70 ? 5 : at < 270 ? 7 : 9;
}
/// Documents of different lengths, in no order of their ids.
int getUnsortedId(int /*batch*/, int position) { return position / 90 * 37 % 5 - 2; }
int getOneId(int /*batch*/, int /*position*/) { return -1; }
/// Short documents.
int getShortId(int /*batch*/, int position) { return position / 8; }
/// Neighbouring positions belong to different documents, so that no tile is hidden.
int getMixedId(int /*batch*/, int position) { return position % 3; }
/// Document 1 has queries only.
int getIdOfFew(int /*batch*/, int position) { return position >= 256 && position < 384; }

constexpr int kLengths[] = {0, 130, 10000};
int getLength(int batch) { return kLengths[batch % 3]; }

/// The tiles that may be seen, found position by position.
template <class Problem, int queriesPerTile, int keysPerTile>
struct Tiles {
  /// Returns whether the distances of the pairs and the intervals of their documents let some be visible.
  template <int (*getId)(int, int)>
  static bool mayBeSeen(int batch, int queryTile, int keyTile) {
    const int firstQuery = queryTile * queriesPerTile,
              endQuery = std::min(firstQuery + queriesPerTile, Problem::queries);
    const int firstKey = keyTile * keysPerTile, endKey = std::min(firstKey + keysPerTile, Problem::keys);
    auto findRange = [&](int first, int end) {
      std::pair<int, int> range{INT_MAX, INT_MIN};
      for (int i = first; i < end; ++i)
        range = {std::min(range.first, getId(batch, i)), std::max(range.second, getId(batch, i))};
      return range;
    };
    const auto ofQueries = findRange(firstQuery, endQuery), ofKeys = findRange(firstKey, endKey);
    return (!Problem::isCausal || firstKey < endQuery) && ofQueries.first <= ofKeys.second &&
           ofKeys.first <= ofQueries.second;
  }
  /// Returns the number of such tiles of all query heads. A tile of queries has at least `leastPerQueries`.
  template <int (*getId)(int, int)>
  static long long count(int leastPerQueries) {
    long long sum = 0;
    for (int batch = 0; batch < Problem::batches; ++batch)
      for (int queryTile = 0; queryTile < countTiles(Problem::queries, queriesPerTile); ++queryTile) {
        int seen = 0;
        for (int keyTile = 0; keyTile < countTiles(Problem::keys, keysPerTile); ++keyTile)
          seen += mayBeSeen<getId>(batch, queryTile, keyTile);
        sum += std::max(seen, leastPerQueries);
      }
    return Problem::queryHeads * sum;
  }
};

template <class Base, int (*getId)(int, int), int warpgroups = 2>
void checkForwardOf(int blocks) {
  using Problem = SegmentProblem<Base, getId>;
  for (bool isRanked : {false, true})
    EXPECT_EQ((checkForward<Problem, warpgroups>(blocks, isRanked)),
              (Tiles<Problem, 64 * warpgroups, 128>::template count<getId>(1)));
}

/// Ranks are a permutation, from the tile with the most work to the one with the least.
template <class Problem, int ownRows, int streamedRows, bool ownsKeys, int parts = 1>
void checkRanks() {
  using Mask = TileMask<Problem, ownsKeys ? streamedRows : ownRows, ownsKeys ? ownRows : streamedRows, ownsKeys, parts>;
  std::vector<TileBits> bits = rankTiles<Problem, Mask>(), inOrder = markTiles<Problem, Mask>();
  for (int batch = 0; batch < Mask::batches; ++batch) {
    std::vector<int> ranked, work;
    for (int rank = 0; rank < Mask::ownTiles; ++rank) {
      ranked.push_back(Mask::getRanked(bits.data(), batch, rank));
      SeenTiles<Mask::streamedTiles, parts> seen(Mask::getRow(bits.data(), batch, ranked.back()),
                                                 /*isDescending=*/true);
      work.push_back(0);
      int count = 0;
      for (VisitedTile tile; seen.take(tile); ++count)
        work.back() += (tile.seen & ~tile.whole) == 0 ? 1 : 2;
      EXPECT_EQ(seen.count(), count);
    }
    EXPECT_TRUE(std::is_sorted(work.rbegin(), work.rend()));
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> all(Mask::ownTiles);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(ranked, all);
    // Blocks of words and blocks of rows write the same bits and counts.
    for (int own = 0; own < Mask::ownTiles; ++own)
      for (int word = 0; word < Mask::words * parts; ++word) {
        const TileBits actual = Mask::getRow(bits.data(), batch, own)[word],
                       expected = Mask::getRow(inOrder.data(), batch, own)[word];
        EXPECT_EQ(actual.seen, expected.seen);
        EXPECT_EQ(actual.whole, expected.whole);
        if (word % parts == 0) {
          EXPECT_EQ(actual.before, expected.before);
        }
      }
  }
}

TEST(HiddenTilesTest, Ranks) {
  checkRanks<SegmentProblem<HostProblem<3, 1, 1, 900, 900, 64, true>, getSortedId>, 64, 32, false>();
  checkRanks<SegmentProblem<HostProblem<2, 1, 1, 500, 700, 64, false>, getUnsortedId>, 64, 16, false>();
  checkRanks<LengthProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>, 64, 64, true>();
  // Several words and parts.
  checkRanks<SegmentProblem<HostProblem<2, 1, 1, 500, 700, 64, false>, getUnsortedId>, 64, 16, false, 2>();
  checkRanks<SegmentProblem<HostProblem<3, 1, 1, 1200, 1200, 64, true>, getSortedId>, 96, 16, false, 3>();
}

TEST(HiddenTilesTest, DocumentsInTheForwardPass) {
  checkForwardOf<HostProblem<2, 2, 1, 500, 500, 64, true>, getSortedId>(2);
  checkForwardOf<HostProblem<1, 1, 1, 640, 640, 64, false>, getSortedId, 3>(1);
  checkForwardOf<HostProblem<1, 1, 1, 450, 620, 80, false>, getUnsortedId>(1);
  checkForwardOf<HostProblem<1, 1, 1, 300, 300, 128, true>, getOneId>(1);
  checkForwardOf<HostProblem<1, 1, 1, 400, 400, 64, true>, getShortId>(2);
  checkForwardOf<HostProblem<1, 1, 1, 300, 400, 64, false>, getMixedId>(1);
  // All tiles of some blocks are hidden.
  checkForwardOf<HostProblem<1, 2, 2, 400, 200, 64, false>, getIdOfFew>(2);
}
TEST(HiddenTilesTest, SkipsInTheForwardPass) {
  // There are 15 tiles below the diagonal.
  EXPECT_EQ((checkForward<SegmentProblem<HostProblem<1, 1, 1, 640, 640, 64, true>, getShortId>>(1)), 5);
  EXPECT_EQ((checkForward<SegmentProblem<HostProblem<1, 1, 1, 640, 640, 64, true>, getOneId>>(1)), 15);
}
TEST(HiddenTilesTest, LengthsInTheForwardPass) {
  // Per batch and head, three blocks visit 1, 2 or all 4 tiles of keys.
  using Problem = LengthProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>;
  EXPECT_EQ(checkForward<Problem>(2), 2 * 3 * (1 + 2 + 4));
  using InSteps = LengthSlopeProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>;
  EXPECT_EQ(checkForward<InSteps>(2), 2 * 3 * (1 + 2 + 4));
}

template <class Base, int (*getId)(int, int), bool overlaps, int keysPerTile = 96>
void checkTwoPassesOf(int blocks) {
  using Problem = SegmentProblem<Base, getId>;
  const auto [keys, queries] = checkTwoPasses<Problem, overlaps, keysPerTile>(blocks);
  EXPECT_EQ(keys, (Tiles<Problem, 128, keysPerTile>::template count<getId>(1)));
  EXPECT_EQ(queries, (Tiles<Problem, 64, 128>::template count<getId>(0)));
}

TEST(HiddenTilesTest, DocumentsInTwoPasses) {
  checkTwoPassesOf<HostProblem<2, 2, 1, 500, 500, 64, true>, getSortedId, true>(2);
  checkTwoPassesOf<HostProblem<1, 1, 1, 450, 620, 80, false>, getUnsortedId, true, 64>(1);
  checkTwoPassesOf<HostProblem<1, 1, 1, 300, 300, 128, true>, getOneId, false>(1);
  checkTwoPassesOf<HostProblem<1, 1, 1, 400, 400, 64, true>, getShortId, true>(2);
  checkTwoPassesOf<HostProblem<1, 1, 1, 300, 400, 64, false>, getMixedId, false>(1);
  checkTwoPassesOf<HostProblem<1, 2, 2, 400, 200, 64, false>, getIdOfFew, true>(2);
  checkTwoPassesOf<HostProblem<1, 2, 1, 200, 400, 64, false>, getIdOfFew, true>(2);
}
TEST(HiddenTilesTest, LengthsInTwoPasses) {
  using Problem = LengthProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>;
  // Per head, blocks for dK and dV visit all 5 tiles of queries for 0, 2 or all 4 tiles of keys.
  const auto [keys, queries] = checkTwoPasses<Problem, true, 96>(2);
  EXPECT_EQ(keys, 2 * 3 * (1 + 2 + 5));
  EXPECT_EQ(queries, 2 * 5 * (0 + 2 + 4));
}
TEST(HiddenTilesTest, DerivativesInTwoPasses) {
  checkTwoPasses<SegmentCapProblem<HostProblem<2, 2, 1, 420, 420, 64, true>, getSortedId>, false, 64>(2);
  checkTwoPasses<SegmentCapProblem<HostProblem<1, 1, 1, 200, 400, 128, false>, getUnsortedId>, false, 64>(1);
}

template <class Base, int (*getId)(int, int), bool overlaps, int headsPerGroup = 1>
void checkOnePassOf() {
  using Problem = SegmentProblem<Base, getId>;
  EXPECT_EQ((checkOnePass<Problem, overlaps, headsPerGroup>()), (Tiles<Problem, 64, 128>::template count<getId>(0)));
}

TEST(HiddenTilesTest, DocumentsInOnePass) {
  checkOnePassOf<HostProblem<2, 2, 1, 500, 500, 64, true>, getSortedId, true>();
  checkOnePassOf<HostProblem<2, 2, 2, 500, 500, 128, true>, getSortedId, false, 3>();
  checkOnePassOf<HostProblem<1, 1, 1, 450, 620, 80, false>, getUnsortedId, true>();
  checkOnePassOf<HostProblem<1, 1, 1, 300, 300, 128, true>, getOneId, false>();
  checkOnePassOf<HostProblem<1, 3, 3, 400, 400, 64, true>, getShortId, true, 2>();
  checkOnePassOf<HostProblem<1, 1, 1, 300, 400, 64, false>, getMixedId, true>();
  checkOnePassOf<HostProblem<1, 2, 2, 400, 200, 64, false>, getIdOfFew, true>();
  checkOnePassOf<HostProblem<1, 2, 1, 200, 400, 64, false>, getIdOfFew, false>();
}
TEST(HiddenTilesTest, LengthsInOnePass) {
  using Problem = LengthProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>;
  EXPECT_EQ((checkOnePass<Problem, true>()), 2 * 5 * (0 + 2 + 4));
  using InSteps = LengthSlopeProblem<HostProblem<3, 2, 1, 300, 450, 64, false>, getLength>;
  EXPECT_EQ((checkOnePass<InSteps, true>()), 2 * 5 * (0 + 2 + 4));
}

} // namespace
