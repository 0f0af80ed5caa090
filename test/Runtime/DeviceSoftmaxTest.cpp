//===- DeviceSoftmaxTest.cpp - Softmax of attention by warpgroups ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// warpgroup_softmax.cuh, warpgroup_soft_cap.cuh, warpgroup_slopes.cuh and warpgroup_gradient_slopes.cuh of
// runtime/kernels against float64.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupText.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <limits>
#include <random>
#include <vector>

namespace {

constexpr int kRows = rowsPerWarpgroup, kKeysPerTile = 96, kTiles = 5, kKeys = kTiles * kKeysPerTile;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Plain = HostProblem<1, 1, 1, kRows, kKeys, 64, false>;
using Window = WindowProblem<Plain, kKeys, kKeys>;

/// Computes the mean of `values`, one per key, weighted by the softmax of each row of `scores`, and the log-sum-exp.
/// Before pairs are hidden, they have any number, which must not matter.
template <class Problem>
void weigh(const float *scores, const float *values, float *means, float *logSumExp, float *largest) {
  const WarpgroupLane lane(0);
  typename SelectSoftmax<Problem>::Type softmax;
  float result[4] = {};
  for (int tile = 0; tile < kTiles; ++tile) {
    float products[kKeysPerTile / 2], part[kKeysPerTile / 2];
    auto getColumn = [&](int i) { return tile * kKeysPerTile + lane.column + i / 4 * 8 + i % 2; };
    constexpr float productsOfHidden[] = {0, 1e6f, std::numeric_limits<float>::quiet_NaN()};
    for (int i = 0; i < kKeysPerTile / 2; ++i) {
      part[i] = scores[(lane.row + i / 2 % 2 * 8) * kKeys + getColumn(i)];
      products[i] = part[i] == -kInfinity ? productsOfHidden[tile % 3] : part[i];
    }
    bool isInterior = true;
    for (int row = 0; row < kRows; ++row)
      for (int key = tile * kKeysPerTile; key < (tile + 1) * kKeysPerTile; ++key)
        isInterior &= scores[row * kKeys + key] != -kInfinity;
    softmax.inspect(products);
    if (tile == 0) {
      softmax.template exponentiate<true>(part, isInterior);
    } else {
      softmax.template exponentiate<false>(part, isInterior);
      softmax.rescale(result);
    }
    // The parts of a row that the thread has: values 0 and 1 of the first, 2 and 3 of the second.
    for (int i = 0; i < kKeysPerTile / 2; ++i) {
      result[i % 4] += part[i] * values[getColumn(i)];
      largest[threadIdx.x] = std::max(largest[threadIdx.x], part[i]);
    }
  }
  for (int row = 0; row < 2; ++row) {
    const float sum = softmax.sumRow(row), total = sumOfRow(result[2 * row] + result[2 * row + 1]);
    if (lane.column == 0) {
      means[lane.row + 8 * row] = total * invertSum<Problem>(sum);
      logSumExp[lane.row + 8 * row] = softmax.getLogSumExp(row, sum);
    }
  }
}

using Fill = std::function<float(int row, int key)>;

/// Returns a pair's score in float64.
template <class Problem>
double getScoreOf(float product) {
  const double scaled = Problem::scale * static_cast<double>(product);
  if constexpr (hasSoftCap<Problem>)
    if (product != -kInfinity)
      return Problem::Score::softCap * std::tanh(Problem::Score::capSlope * scaled);
  return scaled;
}

/// `tolerance` is the error of a probability relative to it.
template <class Problem>
void checkRows(const Fill &fill, double tolerance = 1e-5) {
  std::vector<float> scores(kRows * kKeys), values(kKeys), means(kRows, NAN), logSumExp(kRows, NAN), largest(128, 0);
  for (int row = 0; row < kRows; ++row)
    for (int key = 0; key < kKeys; ++key)
      scores[row * kKeys + key] = fill(row, key);
  std::mt19937 random(5);
  for (float &value : values)
    value = 1 + random() % 1000 / 1000.0f;
  launchBlocks(weigh<Problem>, 1, 128, 0, scores.data(), values.data(), means.data(), logSumExp.data(), largest.data());
  for (int row = 0; row < kRows; ++row) {
    const float *ofRow = scores.data() + row * kKeys;
    const double highest = getScoreOf<Problem>(*std::max_element(ofRow, ofRow + kKeys));
    if (highest == -kInfinity) {
      EXPECT_EQ(means[row], 0) << "row " << row;
      EXPECT_EQ(logSumExp[row], -kInfinity) << "row " << row;
      continue;
    }
    double sum = 0, mean = 0;
    for (int key = 0; key < kKeys; ++key) {
      const double weight = std::exp(getScoreOf<Problem>(ofRow[key]) - highest);
      sum += weight;
      mean += weight * values[key];
    }
    ASSERT_NEAR(means[row], mean / sum, tolerance * mean / sum) << "row " << row;
    const double error = hasSoftCap<Problem> ? tolerance : 1e-5 + 4e-7 * std::abs(highest);
    ASSERT_NEAR(logSumExp[row], highest + std::log(sum), error) << "row " << row;
  }
  // Numerators that are rounded to f16 must not overflow: at most 2^8, and as much more as the scale rounds. Those of
  // capped scores are rounded to bf16.
  EXPECT_LE(*std::max_element(largest.begin(), largest.end()), hasSoftCap<Problem> ? 0x1.01p64 : 257);
}

Fill normal(float size) {
  auto random = std::make_shared<std::mt19937>(7);
  return
      [=, distribution = std::normal_distribution<float>(0, size)](int, int) mutable { return distribution(*random); };
}

template <class Problem>
class SoftmaxTest : public testing::Test {};
using Problems = testing::Types<Plain, Window>;
TYPED_TEST_SUITE(SoftmaxTest, Problems);

TYPED_TEST(SoftmaxTest, RandomScores) {
  checkRows<TypeParam>(normal(1));
  checkRows<TypeParam>(normal(40), 2e-5);
  checkRows<TypeParam>(normal(1000), 2e-4);
}

TYPED_TEST(SoftmaxTest, EqualScores) {
  for (float score : {0.0f, -7.5f, 300.0f, -1e5f, 1e5f})
    checkRows<TypeParam>([=](int, int) { return score; });
}

TYPED_TEST(SoftmaxTest, ScoresThatGrowFromTileToTile) {
  // Below the growth after which sums are rescaled, just above it, and far above it.
  for (float growth : {40.0f, 46.0f, 900.0f, 20000.0f})
    checkRows<TypeParam>([=](int row, int key) { return growth * (key / kKeysPerTile) + row % 3 + key % 5; }, 1e-3);
}

TYPED_TEST(SoftmaxTest, RowsGrowIndependently) {
  checkRows<TypeParam>(
      [](int row, int key) { return key / kKeysPerTile == row % kTiles ? 300.0f + key % 7 : key % 3; });
}

TYPED_TEST(SoftmaxTest, ScoresThatFall) {
  checkRows<TypeParam>([](int, int key) { return -30.0f * (key / kKeysPerTile); });
}

TYPED_TEST(SoftmaxTest, HiddenKeys) {
  // One key is visible, which is in any tile; and every second one.
  checkRows<TypeParam>([](int row, int key) { return key == row * 7 % kKeys ? 3.0f : -kInfinity; });
  checkRows<TypeParam>([](int row, int key) { return (key + row) % 2 ? 40.0f * (key / 200) : -kInfinity; });
  // The tile that comes first is hidden, and the others are far below zero.
  checkRows<TypeParam>([](int, int key) { return key < kKeysPerTile ? -kInfinity : -20000.0f + key % 3; }, 1e-2);
}

TEST(SoftmaxTest, RowsThatSeeNothing) {
  checkRows<Window>([](int row, int key) { return row % 3 ? -kInfinity : key % 4; });
}

//===----------------------------------------------------------------------===//
// warpgroup_soft_cap.cuh
//===----------------------------------------------------------------------===//

/// Where a polynomial stands for the hyperbolic tangent, the error of a capped score is at most 1.5e-4 of it.
template <class Problem>
void checkCapped(const Fill &fill) {
  checkRows<Problem>(fill, 1.5e-4 * Problem::Score::softCap);
}

template <class Problem>
class CappedSoftmaxTest : public testing::Test {};
using CappedProblems = testing::Types<SoftCapProblem<Plain, kKeys, kKeys, 2>, SoftCapProblem<Plain, kKeys, kKeys, 30>,
                                      SoftCapProblem<Plain, kKeys, kKeys, 53>>;
TYPED_TEST_SUITE(CappedSoftmaxTest, CappedProblems);

TYPED_TEST(CappedSoftmaxTest, RandomScores) {
  // Scores for the polynomials, around their last arguments, and at the cap.
  for (float size : {1.0f, 10.0f, 20.0f, 40.0f, 1000.0f, 1e20f})
    checkCapped<TypeParam>(normal(size));
}
TYPED_TEST(CappedSoftmaxTest, RowsAndTilesOfDifferentSizes) {
  // The threads of a warp have scores for all polynomials and for the tangent, in tiles that come in any order.
  constexpr float sizes[] = {0.01f, 0.1f, 0.25f, 2};
  for (int tilesPerSize : {1, 2, 5})
    checkCapped<TypeParam>([&, random = normal(1)](int row, int key) {
      const int size = row % 3 + key / kKeysPerTile / tilesPerSize;
      return sizes[size % 4] * random(row, key) / (TypeParam::Score::capSlope * static_cast<float>(TypeParam::scale));
    });
}
TYPED_TEST(CappedSoftmaxTest, LimitsOfThePolynomials) {
  for (float argument : {0.30f, 0.309f, 0.311f, 0.5f, 0.699f, 0.701f})
    checkCapped<TypeParam>([=](int row, int key) {
      return argument * (key % 2 ? 1 : -1) * (key % 7 == row % 7 ? 0.5f : 1) /
             (TypeParam::Score::capSlope * static_cast<float>(TypeParam::scale));
    });
}
TYPED_TEST(CappedSoftmaxTest, EqualScores) {
  for (float score : {0.0f, -7.5f, 300.0f, -1e5f, 1e5f})
    checkCapped<TypeParam>([=](int, int) { return score; });
}
TYPED_TEST(CappedSoftmaxTest, ScoresThatGrowOrFallFromTileToTile) {
  for (float growth : {40.0f, -40.0f, 900.0f, -900.0f})
    checkCapped<TypeParam>([=](int row, int key) { return growth * (key / kKeysPerTile - 2) + row % 3 + key % 5; });
}
TYPED_TEST(CappedSoftmaxTest, HiddenKeys) {
  checkCapped<TypeParam>([](int row, int key) { return key == row * 7 % kKeys ? 3.0f : -kInfinity; });
  checkCapped<TypeParam>([](int row, int key) { return (key + row) % 2 ? 40.0f * (key / 200) : -kInfinity; });
  // Visible scores are small in even columns, and large beside hidden pairs in odd ones.
  checkCapped<TypeParam>([](int, int key) { return key % 2 == 0 ? 0.5f : key / 16 % 2 ? -kInfinity : 1000.0f; });
  // The tile that comes first is hidden, and the others are at one of the ends.
  for (float score : {-20000.0f, 20000.0f})
    checkCapped<TypeParam>([=](int, int key) { return key < kKeysPerTile ? -kInfinity : score + key % 3; });
  checkCapped<TypeParam>([](int row, int key) { return row % 3 ? -kInfinity : key % 4; });
}
TYPED_TEST(CappedSoftmaxTest, NotANumber) {
  // A score that is not a number makes its row one, with both ways to compute the tangent.
  for (float other : {1.0f, 1e5f}) {
    std::vector<float> scores(kRows * kKeys, other), values(kKeys, 1), means(kRows), logSumExp(kRows), largest(128, 0);
    scores[3 * kKeys + 200] = std::numeric_limits<float>::quiet_NaN();
    launchBlocks(weigh<TypeParam>, 1, 128, 0, scores.data(), values.data(), means.data(), logSumExp.data(),
                 largest.data());
    for (int row = 0; row < kRows; ++row)
      EXPECT_EQ(std::isnan(means[row]), row == 3) << "row " << row;
  }
}

//===----------------------------------------------------------------------===//
// warpgroup_slopes.cuh, warpgroup_gradient_slopes.cuh
//===----------------------------------------------------------------------===//

constexpr int kQueries = 64;
constexpr float kScale = 0.125f * log2OfE;

/// For keys 0 to 63 and queries 0 to 63: writes P and dS [key, query], computed with rows of queries, with rows of
/// keys, and as in one pass. `statistics` has a pair per query.
void differentiateAll(const float *scores, const float *slopes, const QueryStatistics *statistics, float *p, float *ds,
                      float *remainders) {
  const WarpgroupLane lane(0);
  constexpr int size = kQueries / 2;
  const unsigned onePass = kQueries * sizeof(QueryStatistics);
  if (threadIdx.x < kQueries) {
    const QueryStatistics own = statistics[threadIdx.x];
    storeSharedWord(threadIdx.x * 8, __float_as_uint(own.logSum));
    storeSharedWord(threadIdx.x * 8 + 4, __float_as_uint(own.rowSum));
    storeSharedWord(onePass + threadIdx.x * 4, __float_as_uint(own.logSum));
    storeSharedWord(onePass + (kQueries + threadIdx.x) * 4, __float_as_uint(-own.rowSum));
  }
  __syncthreads();
  for (int form = 0; form < 3; ++form) {
    const bool rowsAreQueries = form == 0;
    float ofScores[size], ofSlopes[size];
    auto getIndex = [&](int i) {
      const int row = lane.row + i / 2 % 2 * 8, column = lane.column + i / 4 * 8 + i % 2;
      return rowsAreQueries ? column * kQueries + row : row * kQueries + column;
    };
    for (int i = 0; i < size; ++i)
      ofScores[i] = scores[getIndex(i)];
    if (form == 2)
      startFromRowSums(ofSlopes, onePass, lane);
    for (int i = 0; i < size; ++i)
      ofSlopes[i] = (form == 2 ? ofSlopes[i] : 0) + slopes[getIndex(i)];
    if (rowsAreQueries) {
      const QueryStatistics rows[] = {statistics[lane.row], statistics[lane.row + 8]};
      const float logSums[] = {rows[0].logSum, rows[1].logSum}, rowSums[] = {rows[0].rowSum, rows[1].rowSum};
      float remainder[2] = {};
      exponentiateRows(ofScores, kScale, logSums);
      differentiateRows(ofSlopes, ofScores, rowSums, remainder);
      for (int row = 0; row < 2; ++row)
        remainders[lane.row + 8 * row] = sumOfRow(remainder[row]);
    } else if (form == 1) {
      exponentiateColumns(ofScores, kScale, 0, lane);
      differentiateColumns(ofSlopes, ofScores, 0, lane);
    } else {
      exponentiateByQuery(ofScores, kScale, onePass, lane, TileBias<Plain>());
      differentiate(ofSlopes, ofScores);
    }
    for (int i = 0; i < size; ++i) {
      p[form * kRows * kQueries + getIndex(i)] = ofScores[i];
      ds[form * kRows * kQueries + getIndex(i)] = ofSlopes[i];
    }
  }
}

TEST(SlopesTest, AreThoseOfTheSoftmax) {
  constexpr int count = kRows * kQueries;
  std::vector<float> scores(count), slopes(count), p(3 * count, NAN), ds(3 * count, NAN), remainders(kQueries, NAN);
  std::vector<QueryStatistics> statistics(kQueries);
  const Fill draw = normal(8);
  for (int i = 0; i < count; ++i) {
    scores[i] = i % 11 == 0 ? -kInfinity : draw(0, 0);
    slopes[i] = draw(0, 0);
  }
  // The last query stands for one past the end.
  for (int query = 0; query < kQueries; ++query)
    statistics[query] = {query == kQueries - 1 ? kInfinity : draw(0, 0), draw(0, 0)};
  launchBlocks(differentiateAll, 1, 128, 2 * kQueries * sizeof(QueryStatistics), scores.data(), slopes.data(),
               statistics.data(), p.data(), ds.data(), remainders.data());
  for (int query = 0; query < kQueries; ++query) {
    double remainder = 0, size = 0;
    for (int key = 0; key < kRows; ++key) {
      const int i = key * kQueries + query;
      const double weight = std::exp2(static_cast<double>(kScale) * scores[i] - statistics[query].logSum);
      const double slope = weight * (static_cast<double>(slopes[i]) - statistics[query].rowSum);
      for (int form = 0; form < 3; ++form) {
        ASSERT_NEAR(p[form * count + i], weight, 1e-5 * weight) << "form " << form << ", query " << query;
        ASSERT_NEAR(ds[form * count + i], slope, 1e-5 * weight * 50) << "form " << form << ", query " << query;
      }
      remainder += slope;
      size += std::abs(slope);
    }
    EXPECT_NEAR(remainders[query], remainder, 1e-5 * size);
  }
}

} // namespace
