//===- OccupancyTest.cpp - Blocks that a multiprocessor runs at once ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/Occupancy.h"

#include <gtest/gtest.h>

namespace cs336::cuda {
namespace {

Occupancy Compute(const BlockResources &block, llvm::StringRef architecture = "sm_90a") {
  return computeOccupancy(block, getTarget(architecture));
}

// The example of "Calculating Occupancy" in the CUDA C++ Best Practices Guide: with 65536 registers and 64 warps, 37
// registers per thread allow 12 blocks of 128 threads (75 %), or 4 blocks of 320 threads (63 %).
TEST(OccupancyTest, AgreesWithTheBestPracticesGuide) {
  Occupancy small = Compute({128, 37, 0}, "sm_80");
  EXPECT_EQ(small.blocks, 12);
  EXPECT_DOUBLE_EQ(small.share, 0.75);
  EXPECT_EQ(small.limit, OccupancyLimit::Registers);
  Occupancy large = Compute({320, 37, 0}, "sm_80");
  EXPECT_EQ(large.blocks, 4);
  EXPECT_DOUBLE_EQ(large.share, 0.625);
}

// The guide's limit for full occupancy of 2048 threads: 65536 / 2048 = 32 registers per thread.
TEST(OccupancyTest, IsFullUpTo32Registers) {
  EXPECT_DOUBLE_EQ(Compute({256, 32, 0}).share, 1);
  EXPECT_EQ(Compute({256, 32, 0}).limit, OccupancyLimit::Warps);
  // 33 registers are 1056 per warp, in units of 256: 1280. A partition has 16384: 12 warps, so 48 of 64.
  EXPECT_EQ(Compute({256, 33, 0}).warps, 48);
  EXPECT_EQ(Compute({256, 33, 0}).limit, OccupancyLimit::Registers);
  // sm_86 has 48 warps for as many registers.
  EXPECT_DOUBLE_EQ(Compute({256, 40, 0}, "sm_86").share, 1);
}

// A warp's registers are from one partition: 168 registers are 5376 per warp, of which 16384 holds 3. All partitions
// together hold 12, the warps of one block of 384 threads; 65536 / 5376 would be 12.19, and for 104 registers, 3328 per
// warp, 19.7 instead of 16.
TEST(OccupancyTest, AWarpTakesItsRegistersFromOnePartition) {
  EXPECT_EQ(Compute({384, 168, 0}).blocks, 1);
  EXPECT_EQ(Compute({384, 168, 0}).warps, 12);
  EXPECT_EQ(Compute({32, 104, 0}).blocks, 16);
}

// sm_90 has 228 KiB, of which a block takes 1 KiB more than it uses: 227 KiB fit once, 113 KiB twice.
TEST(OccupancyTest, OneKibibyteOfSharedMemoryIsReservedPerBlock) {
  EXPECT_EQ(Compute({128, 32, 227 * 1024}).blocks, 1);
  EXPECT_EQ(Compute({128, 32, 227 * 1024 + 1}).blocks, 0);
  EXPECT_EQ(Compute({128, 32, 113 * 1024}).blocks, 2);
  Occupancy more = Compute({128, 32, 113 * 1024 + 1});
  EXPECT_EQ(more.blocks, 1);
  EXPECT_EQ(more.limit, OccupancyLimit::SharedMemory);
  EXPECT_DOUBLE_EQ(more.share, 4.0 / 64);
  // sm_80 has 164 KiB: 3 blocks of 53 KiB. sm_120 has 100 KiB: one.
  EXPECT_EQ(Compute({128, 32, 53 * 1024}, "sm_80").blocks, 3);
  EXPECT_EQ(Compute({128, 32, 53 * 1024}, "sm_120").blocks, 1);
}

// 6 KiB and 1 KiB are 7168 bytes, 56 units of 128: 32 of them fit into 228 KiB. One byte more takes another unit: 7296
// bytes, of which 32 are 233472, exactly 228 KiB; and the next unit, from 6273 bytes on, leaves room for 31.
TEST(OccupancyTest, SharedMemoryIsRoundedUpToUnits) {
  EXPECT_EQ(Compute({32, 16, 6 * 1024}).blocks, 32);
  EXPECT_EQ(Compute({32, 16, 6 * 1024 + 1}).blocks, 32);
  EXPECT_EQ(Compute({32, 16, 6 * 1024 + 128}).blocks, 32);
  EXPECT_EQ(Compute({32, 16, 6 * 1024 + 129}).blocks, 31);
  EXPECT_EQ(Compute({32, 16, 6 * 1024 + 129}).limit, OccupancyLimit::SharedMemory);
}

TEST(OccupancyTest, SmallBlocksReachTheLimitOfBlocks) {
  // 32 blocks of one warp: half of 64 warps. sm_86 runs 16 blocks, of 48 warps.
  Occupancy blocks = Compute({32, 16, 0});
  EXPECT_EQ(blocks.limit, OccupancyLimit::Blocks);
  EXPECT_DOUBLE_EQ(blocks.share, 0.5);
  EXPECT_EQ(Compute({32, 16, 0}, "sm_86").blocks, 16);
  EXPECT_EQ(Compute({32, 16, 0}, "sm_89").blocks, 24);
  // A block of 33 threads has two warps.
  EXPECT_EQ(Compute({33, 16, 0}).warps, 64);
}

TEST(OccupancyTest, ABlockThatDoesNotFitHasNone) {
  EXPECT_EQ(Compute({1024, 255, 0}).blocks, 0);
  EXPECT_EQ(Compute({1024, 255, 0}).limit, OccupancyLimit::Registers);
  EXPECT_EQ(Compute({128, 256, 0}).blocks, 0);
  EXPECT_EQ(Compute({0, 32, 0}).blocks, 0);
}

} // namespace
} // namespace cs336::cuda
