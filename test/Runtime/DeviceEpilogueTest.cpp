//===- DeviceEpilogueTest.cpp - warpgroup_epilogue.cuh --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogues of attention by warpgroups store each element once, at ragged edges too.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupMaps.h"

#include <gmock/gmock.h>

namespace {

using testing::Each;

constexpr int kWarpgroups = 2, kRowsPerTile = 64 * kWarpgroups;

/// Returns an integer that bf16 can represent, different for neighbouring elements.
float valueOf(int batch, int position, int head, int element) {
  return static_cast<float>((position * 7 + element * 3 + head * 50 + batch * 100) % 251);
}

template <class Problem, bool lastIsFull = false>
using TileOf = QueryTile<Problem, kRowsPerTile, 128, Problem::batches * Problem::queryHeads, lastIsFull>;
template <class Problem>
using RowsOf = SlabTile<HostWgmma<__nv_bfloat16>, Problem::headDim, kRowsPerTile>;

/// Fills a result with the values of the thread's elements, each divided by 1 or 2, which `factors` have.
template <class Problem, class Tile, int size>
void fillResult(float (&result)[size], const float (&factors)[2], const Tile &tile, const WarpgroupLane &lane,
                int offset = 0) {
  for (int i = 0; i < size; ++i)
    result[i] =
        (valueOf(tile.batch, tile.first + lane.row + i / 2 % 2 * 8, tile.head, lane.column + i / 4 * 8 + i % 2) +
         offset) /
        factors[i / 2 % 2];
}

/// A softmax that counts how often each query's result is computed.
struct CountingSoftmax {
  int *counts;
  float getLogSumExp(int /*row*/, float sum) const {
    ++counts[static_cast<int>(sum)];
    return sum + 0.5f;
  }
};

template <class Problem, bool lastIsFull>
void storeOutputs(const TensorMap *map, float *logSumExp, int *counts) {
  using Rows = RowsOf<Problem>;
  using Tile = TileOf<Problem, lastIsFull>;
  const WarpgroupLane lane(threadIdx.x / 128);
  TileQueue<Tile::count> queue;
  for (int number; queue.next(number);) {
    const Tile tile(number);
    const float factors[2] = {2, 1};
    float result[Rows::columns / 2];
    fillResult<Problem>(result, factors, tile, lane);
    for (int row = 0; row < 2; ++row) {
      const int query = tile.first + lane.row + 8 * row;
      const float id = (tile.batch * Problem::queryHeads + tile.head) * Problem::queries + query;
      storeLogSumExp<Problem>(logSumExp, CountingSoftmax{counts}, id, tile, row, lane);
    }
    storeOutput<Rows>(*map, lane.warpgroup * rowsPerWarpgroup * 128, result, factors, tile, lane);
  }
  if (lane.isElected)
    awaitStoresRead();
}

/// Checks that each element has been stored once, and is its value plus `offset`.
void checkStored(const HostOperand &operand, int offset = 0) {
  EXPECT_THAT(operand.stores, Each(1));
  for (int batch = 0; batch < operand.batches; ++batch)
    for (int position = 0; position < operand.positions; ++position)
      for (int head = 0; head < operand.heads; ++head)
        for (int element = 0; element < operand.headDim; ++element)
          ASSERT_EQ(operand.get(batch, position, head, element), valueOf(batch, position, head, element) + offset)
              << "position " << position << ", head " << head << ", element " << element;
}

template <class Problem>
class EpilogueTest : public testing::Test {};
using Problems = testing::Types<HostProblem<2, 2, 1, 300, 300, 64, true>, HostProblem<1, 2, 2, 193, 200, 80, false>,
                                HostProblem<1, 3, 1, 65, 65, 40, true>, HostProblem<1, 1, 1, 1, 1, 128, false>,
                                HostProblem<2, 1, 1, 256, 256, 72, false>>;
TYPED_TEST_SUITE(EpilogueTest, Problems);

template <class Problem, bool lastIsFull>
void checkOutput() {
  HostOperand output(Problem::batches, Problem::queries, Problem::queryHeads, Problem::headDim);
  const TensorMap map = output.map(rowsPerWarpgroup);
  const size_t rows = 1ull * Problem::batches * Problem::queryHeads * Problem::queries;
  std::vector<float> logSumExp(rows + 1, -1);
  std::vector<int> counts(rows + 1);
  launchBlocks(storeOutputs<Problem, lastIsFull>, 2, 128 * kWarpgroups, RowsOf<Problem>::bytes, &map, logSumExp.data(),
               counts.data());
  checkStored(output);
  for (size_t row = 0; row < rows; ++row) {
    ASSERT_EQ(logSumExp[row], row + 0.5f);
    ASSERT_EQ(counts[row], 1);
  }
  EXPECT_EQ(logSumExp[rows], -1);

  // Without a log-sum-exp.
  launchBlocks(storeOutputs<Problem, lastIsFull>, 1, 128 * kWarpgroups, RowsOf<Problem>::bytes, &map, nullptr,
               counts.data());
}

TYPED_TEST(EpilogueTest, OutputIsStoredOnce) { checkOutput<TypeParam, false>(); }
TYPED_TEST(EpilogueTest, OutputOfTilesThatBeginBeforeTheFirstQueryIsStoredOnce) { checkOutput<TypeParam, true>(); }

template <class Problem>
void storeGradients(const TensorMap *queryMap, const TensorMap *keyMap, const TensorMap *valueMap) {
  using Rows = RowsOf<Problem>;
  const WarpgroupLane lane(threadIdx.x / 128);
  const unsigned own = lane.warpgroup * rowsPerWarpgroup * 128;
  TileQueue<TileOf<Problem>::count> queue;
  for (int number; queue.next(number);) {
    const TileOf<Problem> tile(number);
    const float halves[2] = {0.5f, 0.5f}, ones[2] = {1, 1};
    float scaled[Rows::columns / 2], result[Rows::columns / 2];
    fillResult<Problem>(scaled, halves, tile, lane);
    fillResult<Problem>(result, ones, tile, lane, 1);
    // The rows are free when the elected thread has stored them, as after a ring's next tile.
    lane.synchronise();
    storeQueryGradient<Rows>(queryMap, own, scaled, 0.5f, tile, lane);
    storeKeyGradients<Rows, Rows::bytes>(keyMap, valueMap, own, scaled, result, 0.5f, tile, lane);
  }
}

TYPED_TEST(EpilogueTest, GradientsAreStoredOnce) {
  // Each of the three may be unwanted.
  for (int wanted = 0; wanted < 8; ++wanted) {
    std::vector<HostOperand> gradients(
        3, HostOperand(TypeParam::batches, TypeParam::queries, TypeParam::queryHeads, TypeParam::headDim));
    std::vector<TensorMap> maps;
    for (HostOperand &gradient : gradients)
      maps.push_back(gradient.map(rowsPerWarpgroup));
    auto getMap = [&](int i) { return wanted >> i & 1 ? &maps[i] : nullptr; };
    launchBlocks(storeGradients<TypeParam>, 1, 128 * kWarpgroups, 2 * RowsOf<TypeParam>::bytes, getMap(0), getMap(1),
                 getMap(2));
    for (int i = 0; i < 3; ++i)
      if (getMap(i))
        checkStored(gradients[i], i == 2);
      else
        EXPECT_THAT(gradients[i].stores, Each(0));
  }
}

} // namespace
