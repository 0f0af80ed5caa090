//===- AttentionCostTest.cpp - Predicted time of attention's tiles --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionCost.h"

#include "cs336/Target/CUDA/TargetDescription.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cs336::cuda {
namespace {

class AttentionCostTest : public testing::Test {
protected:
  double predict(AttentionStage stage, const AttentionSizes &sizes, bool isCausal) {
    mlir::Type element = mlir::Builder(&context).getBF16Type();
    auto tiles = AttentionTiles::choose(stage, sizes, element, AttentionArithmetic::TensorCores);
    return predictClocks(tiles.getWork(isCausal), target);
  }

  mlir::MLIRContext context;
  const TargetDescription &target = getTarget("sm_80");
  AttentionWork work{AttentionArithmetic::TensorCores,
                     {128, 128, 16 * 1024},
                     /*blocks=*/1000,
                     /*tiles=*/16000,
                     /*stages=*/2,
                     /*flops=*/1 << 20,
                     /*exponentials=*/4096,
                     /*sharedBytes=*/65536,
                     /*streamedBytes=*/16384};
};

TEST_F(AttentionCostTest, MoreWorkTakesLonger) {
  double clocks = predictClocks(work, target);
  AttentionWork more = work;
  more.tiles *= 2;
  EXPECT_DOUBLE_EQ(predictClocks(more, target), 2 * clocks);
  for (int64_t AttentionWork::*part : {&AttentionWork::flops, &AttentionWork::exponentials, &AttentionWork::sharedBytes,
                                       &AttentionWork::streamedBytes}) {
    more = work;
    more.*part *= 16;
    EXPECT_GT(predictClocks(more, target), clocks);
  }
}

TEST_F(AttentionCostTest, TheLastRoundCostsAsMuchAsAFullOne) {
  int64_t perRound = target.multiprocessors * computeOccupancy(work.block, target).blocks;
  auto predict = [&](int64_t blocks) {
    AttentionWork other = work;
    other.blocks = blocks;
    other.tiles = 16 * blocks;
    return predictClocks(other, target);
  };
  EXPECT_DOUBLE_EQ(predict(perRound + 1), 2 * predict(perRound));
  EXPECT_DOUBLE_EQ(predict(2 * perRound), predict(perRound + 1));
}

TEST_F(AttentionCostTest, MoreMultiprocessorsAreNotSlower) {
  TargetDescription large = target;
  large.multiprocessors *= 4;
  EXPECT_LT(predictClocks(work, large), predictClocks(work, target));
  large.multiprocessors = 100000;
  EXPECT_LE(predictClocks(work, large), predictClocks(work, target));
}

TEST_F(AttentionCostTest, ASingleStageWaitsForCopies) {
  AttentionWork single = work;
  // So few blocks that nothing hides the latency.
  single.blocks = 1;
  single.flops = single.exponentials = single.sharedBytes = single.streamedBytes = 1;
  double buffered = predictClocks(single, target);
  single.stages = 1;
  EXPECT_GT(predictClocks(single, target), buffered);
}

TEST_F(AttentionCostTest, ABlockThatDoesNotFitTakesForever) {
  work.block.sharedBytes = target.sharedBytesPerBlock + 1;
  EXPECT_TRUE(std::isinf(predictClocks(work, target)));
}

TEST_F(AttentionCostTest, MasksHideTiles) {
  // Queries 0 to 63 see keys 0 to 63, and so on: 1, 2, 3 and 4 tiles.
  EXPECT_EQ(countVisibleTiles(256, 64, 256, 64, /*isCausal=*/true, /*ownsKeys=*/false), 10);
  EXPECT_EQ(countVisibleTiles(256, 64, 256, 64, /*isCausal=*/true, /*ownsKeys=*/true), 10);
  EXPECT_EQ(countVisibleTiles(256, 64, 256, 64, /*isCausal=*/false, /*ownsKeys=*/true), 16);
  // A tile of one row's length counts if any of its scores is visible.
  EXPECT_EQ(countVisibleTiles(65, 64, 65, 64, /*isCausal=*/true, /*ownsKeys=*/false), 3);
  EXPECT_EQ(countVisibleTiles(64, 64, 16, 16, /*isCausal=*/true, /*ownsKeys=*/false), 1);
}

TEST_F(AttentionCostTest, LongerAndWiderProblemsTakeLonger) {
  AttentionSizes sizes{8, 1024, 1024, 16, 16, 64};
  for (AttentionStage stage :
       {AttentionStage::Forward, AttentionStage::BackwardQueries, AttentionStage::BackwardKeys}) {
    double clocks = predict(stage, sizes, false);
    EXPECT_LT(predict(stage, sizes, true), clocks);
    AttentionSizes longer = sizes, wider = sizes, more = sizes;
    longer.queries = longer.keys = 4096;
    wider.headDim = 128;
    more.batches = 16;
    for (const AttentionSizes &other : {longer, wider, more})
      EXPECT_GT(predict(stage, other, false), clocks);
  }
}

} // namespace
} // namespace cs336::cuda
