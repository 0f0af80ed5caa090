//===- DeviceMaskTest.cpp - Masks and scores of runtime/kernels -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// warpgroup_mask.cuh, warpgroup_key_tiles.cuh, warpgroup_scores.cuh and warpgroup_bias.cuh of runtime/kernels, against
// every pair of query and key.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupText.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <vector>

namespace {

constexpr int kWarpgroups = 2, kQueriesPerTile = 64 * kWarpgroups, kKeysPerTile = 96, kSize = kKeysPerTile / 2;

/// Calls `visit` with each thread's lane of the computing warpgroups.
template <typename Visit>
void forEachLane(const Visit &visit) {
  for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup)
    for (unsigned thread = 0; thread < 128; ++thread) {
      threadIdx = {128 * (warpgroup + 1) + thread, 0, 0};
      visit(WarpgroupLane(warpgroup));
    }
}
/// The row and the column of value i of a result, counted from those of the thread.
int rowOf(int i) { return i / 2 % 2 * 8; }
int columnOf(int i) { return i / 4 * 8 + i % 2; }

/// Returns whether `isSeen` is true for all queries of a warpgroup and all keys of a tile.
template <class Tile, typename IsSeen>
bool seesAll(const Tile &tile, int warpgroup, int keyTile, const IsSeen &isSeen) {
  for (int row = 0; row < rowsPerWarpgroup; ++row)
    for (int key = 0; key < kKeysPerTile; ++key)
      if (!isSeen(tile.first + warpgroup * rowsPerWarpgroup + row, tile.getFirstKey(keyTile) + key))
        return false;
  return true;
}

/// Returns whether an existing query of a warpgroup, or one past the last, sees a key of a tile by its distance.
template <class Problem>
bool canSeeSome(int firstQuery, int firstKey) {
  using Score = ScoreOf<Problem>;
  for (int query = firstQuery; query < firstQuery + rowsPerWarpgroup; ++query)
    for (int key = firstKey; key < firstKey + kKeysPerTile && key < Problem::keys; ++key)
      if constexpr (Score::exists) {
        if (query - key >= Score::firstDistance && query - key <= Score::lastDistance)
          return true;
      } else if (!Problem::isCausal || key <= query) {
        return true;
      }
  return false;
}

//===----------------------------------------------------------------------===//
// Without score functions
//===----------------------------------------------------------------------===//

template <class Problem>
class MaskTest : public testing::Test {};
template <int... numbers>
using Causal = HostProblem<numbers..., 64, true>;
template <int... numbers>
using Full = HostProblem<numbers..., 64, false>;
using Problems = testing::Types<Causal<1, 1, 1, 600, 600>, Full<1, 1, 1, 300, 333>, Causal<1, 1, 1, 500, 200>,
                                Causal<1, 1, 1, 200, 500>, Full<1, 1, 1, 1, 1>, Causal<1, 1, 1, 384, 288>>;
TYPED_TEST_SUITE(MaskTest, Problems);

TYPED_TEST(MaskTest, HidesExactlyTheKeysThatAQueryDoesNotSee) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int keyTile = 0; keyTile < tile.keyTiles; ++keyTile)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kSize];
        std::fill(scores, scores + kSize, 1);
        maskTile<TypeParam>(scores, tile, keyTile, lane);
        for (int i = 0; i < kSize; ++i) {
          const int query = tile.first + lane.row + rowOf(i);
          const int key = tile.getFirstKey(keyTile) + lane.column + columnOf(i);
          ASSERT_EQ(scores[i] == 1, isVisible<TypeParam>(query, key)) << "query " << query << ", key " << key;
        }
      });
  }
}

/// The main loop masks the last tile of keys, and tiles from findFirstMasked on if attention is causal.
TYPED_TEST(MaskTest, TilesThatAreNotMaskedAreSeenAsAWhole) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup)
      for (int keyTile = 0; keyTile < tile.keyTiles - 1; ++keyTile)
        EXPECT_EQ(TypeParam::isCausal && keyTile >= findFirstMasked(tile, warpgroup),
                  !seesAll(tile, warpgroup, keyTile, isVisible<TypeParam>))
            << "queries from " << tile.first << ", warpgroup " << warpgroup << ", tile of keys " << keyTile;
  }
}

//===----------------------------------------------------------------------===//
// With score functions
//===----------------------------------------------------------------------===//

template <class Problem>
class ScoreMaskTest : public testing::Test {};
using ScoreProblems =
    testing::Types<WindowProblem<Full<1, 1, 1, 700, 700>, 9, 0>, WindowProblem<Causal<1, 1, 1, 700, 700>, 300, 0>,
                   WindowProblem<Full<1, 1, 1, 300, 900>, 200, 250>, WindowProblem<Full<1, 1, 1, 600, 100>, 40, 0>,
                   WindowProblem<Full<1, 1, 1, 300, 300>, 400, 400>>;
TYPED_TEST_SUITE(ScoreMaskTest, ScoreProblems);

TYPED_TEST(ScoreMaskTest, InteriorTilesAreThoseSeenAsAWhole) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup) {
      const auto interior =
          InteriorTiles::find<TypeParam, kKeysPerTile>(tile.first + warpgroup * rowsPerWarpgroup, tile.skippedKeys);
      for (int keyTile = 0; keyTile < tile.keyTiles; ++keyTile)
        EXPECT_EQ(keyTile >= interior.begin && keyTile < interior.end,
                  seesAll(tile, warpgroup, keyTile, isVisible<TypeParam>))
            << "queries from " << tile.first << ", warpgroup " << warpgroup << ", tile of keys " << keyTile;
    }
  }
}

TYPED_TEST(ScoreMaskTest, AppliesTheFunctionToExistingPairs) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int keyTile = 0; keyTile < tile.keyTiles; ++keyTile)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kSize], interior[kSize];
        for (int i = 0; i < kSize; ++i)
          scores[i] = interior[i] = i + 1;
        applyToTile<TypeParam, false>({}, scores, tile, keyTile, lane);
        applyToTile<TypeParam, true>({}, interior, tile, keyTile, lane);
        for (int i = 0; i < kSize; ++i) {
          const int query = tile.first + lane.row + rowOf(i);
          const int key = tile.getFirstKey(keyTile) + lane.column + columnOf(i);
          const bool isSeen = query < TypeParam::queries && isVisible<TypeParam>(query, key);
          ASSERT_EQ(scores[i], isSeen ? i + 1 : -infinity()) << "query " << query << ", key " << key;
          ASSERT_EQ(interior[i], i + 1);
        }
      });
  }
}

/// Checks that a warpgroup with queries computes the tiles of keys from the first to the last that some of them see, or
/// may see by their distance, and that one without computes a single tile.
template <class Problem, class Tile>
void checkOwnTiles() {
  static_assert(skipsOwnTiles<Problem>);
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup) {
      const int firstQuery = tile.first + warpgroup * rowsPerWarpgroup;
      std::vector<int> seen;
      for (int keyTile = 0; keyTile < tile.keyTiles; ++keyTile)
        if (canSeeSome<Problem>(firstQuery, tile.getFirstKey(keyTile)))
          seen.push_back(keyTile);
      threadIdx = {128 * (warpgroup + 1u), 0, 0};
      const auto own = OwnTiles::find<Problem>(tile, WarpgroupLane(warpgroup));
      EXPECT_LE(0, own.first);
      EXPECT_LE(own.first, own.last);
      EXPECT_LT(own.last, tile.keyTiles);
      if (firstQuery < 0) {
        EXPECT_EQ(own.last, own.first) << "queries from " << firstQuery;
      } else if (!seen.empty()) {
        EXPECT_LE(own.first, seen.front()) << "queries from " << firstQuery;
        EXPECT_EQ(own.last, seen.back()) << "queries from " << firstQuery;
      }
    }
  }
}
template <class Problem>
using EarlyTile = QueryTile<Problem, kQueriesPerTile, kKeysPerTile, Problem::batches * Problem::queryHeads,
                            /*lastIsFull=*/true>;

TYPED_TEST(ScoreMaskTest, WarpgroupsComputeTheTilesThatTheySee) {
  checkOwnTiles<TypeParam, QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>>();
  checkOwnTiles<TypeParam, EarlyTile<TypeParam>>();
}

TEST(OwnTilesTest, AreThoseThatTheWarpgroupSeesIfCausal) {
  using Problem = Causal<1, 1, 1, 600, 600>;
  checkOwnTiles<Problem, QueryTile<Problem, kQueriesPerTile, kKeysPerTile>>();
  checkOwnTiles<Problem, EarlyTile<Problem>>();
  using Short = Causal<1, 1, 1, 500, 200>;
  checkOwnTiles<Short, EarlyTile<Short>>();
}

TYPED_TEST(ScoreMaskTest, ClipsTilesToVisibleDistances) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  static_assert(clipsToInterior<TypeParam>());
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int keyTile = 0; keyTile < tile.keyTiles; ++keyTile)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kSize];
        for (int i = 0; i < kSize; ++i)
          scores[i] = i + 1;
        computeScores<TypeParam, TileForm::Clipped>({}, scores, tile, keyTile, {}, lane);
        for (int i = 0; i < kSize; ++i) {
          const int query = tile.first + lane.row + rowOf(i);
          const int key = tile.getFirstKey(keyTile) + lane.column + columnOf(i);
          if (query < TypeParam::queries) {
            ASSERT_EQ(scores[i], isVisible<TypeParam>(query, key) ? i + 1 : -infinity())
                << "query " << query << ", key " << key;
          }
        }
      });
  }
}

/// Functions read tables, which have no elements for queries past the last one.
struct TableProblem : HostProblem<1, 1, 1, 300, 300, 64, false> {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, interiorIsScore = false, interiorIsGeneral = false;
    static constexpr int firstDistance = -300, lastDistance = 300, firstInterior = -300, lastInterior = 300;
    float compute(float, int, int, int, int) const { return -1; }
    float computeInterior(float dot, int, int, int query, int key) const { return dot + 1000 * query + key; }
  };
};

TEST(ScoreMaskTest, FunctionsOfTheInteriorGetExistingQueries) {
  using Tile = QueryTile<TableProblem, kQueriesPerTile, kKeysPerTile>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int warpgroup = 0; warpgroup < kWarpgroups; ++warpgroup) {
      const auto interior =
          InteriorTiles::find<TableProblem, kKeysPerTile>(tile.first + warpgroup * rowsPerWarpgroup, tile.skippedKeys);
      const bool allExist = tile.first + (warpgroup + 1) * rowsPerWarpgroup <= TableProblem::queries;
      EXPECT_EQ(interior.end - interior.begin, allExist ? TableProblem::keys / kKeysPerTile : 0);
    }
  }
  const Tile tile(0);
  forEachLane([&](const WarpgroupLane &lane) {
    float scores[kSize] = {};
    applyToTile<TableProblem, true>({}, scores, tile, 1, lane);
    for (int i = 0; i < kSize; ++i)
      ASSERT_EQ(scores[i], 1000 * (lane.row + rowOf(i)) + kKeysPerTile + lane.column + columnOf(i));
  });
}

/// A function that fails if it is called for a pair that does not exist, as one that reads a table would.
template <class Problem>
struct ExistingPairsProblem : Problem {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, returnsDerivative = false;
    static constexpr bool interiorIsScore = false, interiorIsGeneral = true;
    static constexpr int firstDistance = Problem::isCausal ? 0 : -Problem::keys, lastDistance = Problem::queries;
    static constexpr int firstInterior = firstDistance + 100, lastInterior = lastDistance;
    float compute(float dot, int, int, int query, int key) const {
      EXPECT_TRUE(query >= 0 && query < Problem::queries && key >= 0 && key < Problem::keys)
          << "query " << query << ", key " << key;
      return dot + 1000.0f * query + key;
    }
  };
};

template <class Problem>
class ExistingPairsTest : public testing::Test {};
// With and without whole tiles of queries and keys, and with a warpgroup without queries or keys.
using PairsProblems =
    testing::Types<ExistingPairsProblem<Causal<1, 1, 1, 300, 300>>, ExistingPairsProblem<Full<1, 1, 1, 320, 288>>,
                   ExistingPairsProblem<Causal<1, 1, 1, 256, 320>>, ExistingPairsProblem<Full<1, 1, 1, 310, 384>>>;
TYPED_TEST_SUITE(ExistingPairsTest, PairsProblems);

/// Returns the score of a pair whose q · k is 0.
template <class Problem>
float getScore(int query, int key) {
  const bool isSeen = query < Problem::queries && isVisible<Problem>(query, key);
  return isSeen ? 1000.0f * query + key : -infinity();
}

/// Checks the scores of all tiles of queries, whose function may also be that of the interior.
template <class Problem, class Tile>
void checkRowsOfQueries() {
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    forEachLane([&](const WarpgroupLane &lane) {
      int keyTile = tile.keyTiles - 1;
      visitKeyTiles<Problem>(tile, lane, keyTile, [&](TileForm form) {
        float scores[kSize] = {};
        if (form == TileForm::Interior)
          applyToTile<Problem, true>({}, scores, tile, keyTile, lane);
        else
          applyToTile<Problem, false>({}, scores, tile, keyTile, lane);
        for (int i = 0; i < kSize; ++i) {
          const int query = tile.first + lane.row + rowOf(i);
          const int key = tile.getFirstKey(keyTile) + lane.column + columnOf(i);
          if (query >= 0 && query < Problem::queries)
            ASSERT_EQ(scores[i], getScore<Problem>(query, key)) << "query " << query << ", key " << key;
        }
      });
      EXPECT_EQ(keyTile, -1);
    });
  }
}

TYPED_TEST(ExistingPairsTest, GetTheFunctionInRowsOfQueries) {
  checkRowsOfQueries<TypeParam, QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>>();
  checkRowsOfQueries<TypeParam, EarlyTile<TypeParam>>();
}

TYPED_TEST(ExistingPairsTest, GetTheFunctionInRowsOfKeys) {
  constexpr int size = rowsPerWarpgroup / 2;
  for (int firstKey = 0; firstKey < TypeParam::keys; firstKey += kQueriesPerTile)
    for (int firstQuery = 0; firstQuery < TypeParam::queries; firstQuery += rowsPerWarpgroup)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[size] = {};
        applyToQueries<TypeParam>({}, scores, firstQuery, firstKey, 0, 0, /*isWhole=*/true, lane);
        for (int i = 0; i < size; ++i) {
          const int query = firstQuery + lane.column + columnOf(i), key = firstKey + lane.row + rowOf(i);
          ASSERT_EQ(scores[i], getScore<TypeParam>(query, key)) << "query " << query << ", key " << key;
        }
      });
}

/// The exponents of a tile's scores are those of the function for all existing pairs.
template <class Problem>
class BiasTest : public testing::Test {};
using BiasProblems =
    testing::Types<SlopeProblem<Full<1, 2, 2, 500, 500>, 150, 9>, SlopeProblem<Causal<1, 2, 2, 300, 420>, 299, 0>,
                   PlaneProblem<Full<1, 2, 2, 420, 420>, 150, 9>, FarBiasProblem<Causal<1, 2, 2, 500, 500>, 130>>;
TYPED_TEST_SUITE(BiasTest, BiasProblems);

TYPED_TEST(BiasTest, ExponentsAreThoseOfTheFunction) {
  using Tile = QueryTile<TypeParam, kQueriesPerTile, kKeysPerTile>;
  const typename TypeParam::Score function;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    forEachLane([&](const WarpgroupLane &lane) {
      auto check = [&](int keyTile, TileForm form) {
        float scores[kSize];
        for (int i = 0; i < kSize; ++i)
          scores[i] = i + 1;
        const int last = tile.keyTiles - 1;
        const auto interior = findBias<TypeParam>(function, tile, last, lane).move((keyTile - last) * kKeysPerTile);
        const auto bias =
            form == TileForm::Interior
                ? computeScores<TypeParam, TileForm::Interior>(function, scores, tile, keyTile, interior, lane)
                : computeScores<TypeParam, outerForm<TypeParam>>(function, scores, tile, keyTile, interior, lane);
        for (int i = 0; i < kSize; ++i) {
          const int query = tile.first + lane.row + rowOf(i);
          const int key = tile.getFirstKey(keyTile) + lane.column + columnOf(i);
          if (query >= TypeParam::queries)
            continue;
          const float exponent = bias.addTo(scaleOfTiles<TypeParam> * scores[i], i / 2 % 2);
          if (isVisible<TypeParam>(query, key))
            ASSERT_NEAR(exponent,
                        log2OfE * function.compute(TypeParam::scale * (i + 1), tile.batch, tile.head, query, key), 1e-4)
                << "query " << query << ", key " << key;
          else
            ASSERT_EQ(exponent, -infinity()) << "query " << query << ", key " << key;
        }
      };
      int keyTile = tile.keyTiles - 1;
      visitKeyTiles<TypeParam>(tile, lane, keyTile, [&](TileForm form) { check(keyTile, form); });
    });
  }
}

//===----------------------------------------------------------------------===//
// Rows of keys
//===----------------------------------------------------------------------===//

constexpr int kStreamedQueries = 64;

TYPED_TEST(ScoreMaskTest, AppliesTheFunctionToRowsOfKeys) {
  constexpr int tilesPerHead = countTiles(TypeParam::queries, kStreamedQueries);
  for (int firstKey = 0; firstKey < TypeParam::keys; firstKey += kWarpgroups * rowsPerWarpgroup)
    for (int queryTile = 0; queryTile < tilesPerHead; ++queryTile)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kStreamedQueries / 2];
        for (int i = 0; i < kStreamedQueries / 2; ++i)
          scores[i] = i + 1;
        applyToQueries<TypeParam>({}, scores, queryTile * kStreamedQueries, firstKey, 0, 0, /*isWhole=*/true, lane);
        for (int i = 0; i < kStreamedQueries / 2; ++i) {
          const int key = firstKey + lane.row + rowOf(i);
          const int query = queryTile * kStreamedQueries + lane.column + columnOf(i);
          // Queries past the last one have no probabilities.
          if (query < TypeParam::queries) {
            ASSERT_EQ(scores[i], isVisible<TypeParam>(query, key) ? i + 1 : -infinity())
                << "query " << query << ", key " << key;
          }
        }
      });
}

/// The exponents leave out the query's steps within its tile, which its statistics contain.
TYPED_TEST(BiasTest, ExponentsOfRowsOfKeysAreThoseOfTheFunction) {
  const typename TypeParam::Score function;
  for (int firstKey = 0; firstKey < TypeParam::keys; firstKey += kWarpgroups * rowsPerWarpgroup)
    for (int firstQuery = 0; firstQuery < TypeParam::queries; firstQuery += kStreamedQueries)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kStreamedQueries / 2];
        for (int i = 0; i < kStreamedQueries / 2; ++i)
          scores[i] = i + 1;
        const auto interior =
            TileBias<TypeParam>::template find</*rowsAreKeys=*/true>(function, firstKey + lane.row, firstQuery, 0, 1);
        const auto bias = computeScoresOfQueries<TypeParam>(function, scores, firstQuery, firstKey, 0, 1,
                                                            /*isWhole=*/true, interior, lane);
        for (int i = 0; i < kStreamedQueries / 2; ++i) {
          const int key = firstKey + lane.row + rowOf(i), query = firstQuery + lane.column + columnOf(i);
          if (query >= TypeParam::queries || key >= TypeParam::keys)
            continue;
          const float exponent = bias.addTo(scaleOfTiles<TypeParam> * scores[i], i / 2 % 2) +
                                 TileBias<TypeParam>::getSteps(function, query - firstQuery, 0, 1);
          if (isVisible<TypeParam>(query, key))
            ASSERT_NEAR(exponent, log2OfE * function.compute(TypeParam::scale * (i + 1), 0, 1, query, key), 1e-4)
                << "query " << query << ", key " << key;
          else
            ASSERT_EQ(exponent, -infinity()) << "query " << query << ", key " << key;
        }
      });
}

/// Functions get the batch and the head, existing pairs, and places for derivatives.
struct PositionProblem : HostProblem<2, 3, 1, 300, 300, 64, false> {
  struct Score {
    static constexpr bool exists = true, onlyHides = false, interiorIsScore = false, interiorIsGeneral = true;
    static constexpr int firstDistance = -300, lastDistance = 300, firstInterior = -300, lastInterior = 300;
    float compute(float, int batch, int head, int query, int key, float &derivative) const {
      EXPECT_LT(query, queries);
      EXPECT_LT(key, keys);
      derivative = key;
      return 1000 * batch + 100 * head + query % 10;
    }
  };
};

TEST(ScoreMaskTest, FunctionsOfRowsOfKeysGetTheQuery) {
  for (int firstQuery = 0; firstQuery < PositionProblem::queries; firstQuery += kStreamedQueries)
    for (int firstKey : {0, 256})
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kStreamedQueries / 2] = {}, derivatives[kStreamedQueries / 2];
        applyToQueries<PositionProblem>({}, scores, firstQuery, firstKey, 1, 2, /*isWhole=*/true, lane, derivatives);
        for (int i = 0; i < kStreamedQueries / 2; ++i) {
          const int query = firstQuery + lane.column + columnOf(i), key = firstKey + lane.row + rowOf(i);
          const bool exists = query < PositionProblem::queries && key < PositionProblem::keys;
          ASSERT_EQ(scores[i], exists ? 1200 + query % 10 : -infinity());
          ASSERT_EQ(derivatives[i], exists ? key : 0);
        }
      });
}

TEST(MaskQueriesTest, HidesTheQueriesBeforeAKey) {
  using Problem = Causal<1, 1, 1, 600, 600>;
  using Tile = KeyGradientTile<Problem, kQueriesPerTile, kStreamedQueries>;
  for (int number = 0; number < Tile::count; ++number) {
    const Tile tile(number);
    for (int step = 0; step < tile.perHead; ++step)
      forEachLane([&](const WarpgroupLane &lane) {
        float scores[kStreamedQueries / 2], atDistance[kStreamedQueries / 2];
        std::fill(scores, std::end(scores), 1);
        std::fill(atDistance, std::end(atDistance), 1);
        maskQueries(scores, tile, tile.getQueryTile(step), lane);
        maskQueriesAtDistance(atDistance, step, lane);
        for (int i = 0; i < kStreamedQueries / 2; ++i) {
          const int key = tile.first + lane.row + rowOf(i);
          const int query = tile.getQueryTile(step) * kStreamedQueries + lane.column + columnOf(i);
          ASSERT_EQ(scores[i], query < key ? -infinity() : 1) << "query " << query << ", key " << key;
          ASSERT_EQ(atDistance[i], scores[i]) << "query " << query << ", key " << key;
        }
      });
  }
}

} // namespace
