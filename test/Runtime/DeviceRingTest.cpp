//===- DeviceRingTest.cpp - ring.cuh of runtime/kernels -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline of attention by warpgroups, compiled for the host: one side fills stages, and the other uses them at
// another speed.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupText.h"

#include <gmock/gmock.h>
#include <numeric>
#include <vector>

namespace {

constexpr int kTiles = 41, kUsers = 2, kTileBytes = 64;

/// Passes the turn `times` times to the other threads.
void rest(int times) {
  for (; times > 0; --times)
    HostBlock::current->waitUntil([hasPassed = false]() mutable { return std::exchange(hasPassed, true); });
}

/// Thread 0 copies tiles to a ring. Two warps read them, and rest in between for a number of turns that `rests` gives
/// per tile. The user releases a tile at once, or after it has awaited the next one if `releasesLate`.
template <int stages, bool releasesLate>
void streamTiles(const unsigned *tiles, const int *rests, unsigned *received) {
  const unsigned buffers = Ring<stages>::bytes;
  Ring<stages> ring(getSharedMemory());
  if (threadIdx.x == 0) {
    ring.init(1, kUsers);
    publishBarriers();
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0)
    for (int i = 0; i < kTiles; ++i) {
      const unsigned barrier = ring.startFilling(kTileBytes);
      loadBytes(buffers + ring.getStage() * kTileBytes, tiles + i * kTileBytes / 4, kTileBytes, barrier);
      ring.advance();
      rest(rests[i]);
    }
  const bool isElected = threadIdx.x % 32 == 0;
  if (warp > 0)
    for (int i = 0; i < kTiles; ++i) {
      ring.awaitFull();
      if (releasesLate && i > 0)
        ring.releasePrevious(isElected);
      rest(rests[kTiles * warp + i]);
      if (threadIdx.x % 32 < kTileBytes / 4)
        received[((warp - 1) * kTiles + i) * kTileBytes / 4 + threadIdx.x % 32] =
            loadSharedWord(buffers + ring.getStage() * kTileBytes + threadIdx.x % 32 * 4);
      __syncwarp();
      if (releasesLate)
        ring.advance();
      else
        ring.release(isElected);
    }
}

template <int stages, bool releasesLate>
void checkStream() {
  std::vector<unsigned> tiles(kTiles * kTileBytes / 4), received(kUsers * tiles.size());
  std::iota(tiles.begin(), tiles.end(), 1);
  for (int speeds = 0; speeds < 4; ++speeds) {
    // The filler or one of the users is slow, or all of them at times.
    std::vector<int> rests((1 + kUsers) * kTiles);
    for (size_t i = 0; i < rests.size(); ++i)
      rests[i] = speeds == 3 ? i * 7 % 5 : static_cast<int>(i) / kTiles == speeds ? 6 : 0;
    std::fill(received.begin(), received.end(), 0);
    launchBlocks(streamTiles<stages, releasesLate>, 1, 32 * (1 + kUsers), Ring<stages>::bytes + stages * kTileBytes,
                 tiles.data(), rests.data(), received.data());
    for (size_t i = 0; i < received.size(); ++i)
      ASSERT_EQ(received[i], tiles[i % tiles.size()]) << stages << " stages, speeds " << speeds << ", word " << i;
  }
}

TEST(RingTest, EveryUserReceivesEveryTileOfManyRounds) {
  checkStream<1, false>();
  checkStream<2, false>();
  checkStream<3, false>();
  checkStream<4, false>();
}

TEST(RingTest, TilesMayBeReleasedAfterTheNextOneIsAwaited) {
  checkStream<2, true>();
  checkStream<3, true>();
  checkStream<4, true>();
}

/// Records for each step the stage, the stage before it, and the barrier's offset.
template <int stages>
void checkStages() {
  constexpr unsigned barriers = 512;
  Ring<stages> ring(barriers);
  for (int i = 0; i < 5 * stages; ++i, ring.advance()) {
    EXPECT_EQ(ring.getStage(), i % stages);
    EXPECT_EQ(ring.getPreviousStage(), (i + stages - 1) % stages);
    EXPECT_EQ(ring.getFullBarrier(), barriers + i % stages * 16);
  }
}

TEST(RingTest, GoesThroughItsStages) {
  checkStages<1>();
  checkStages<2>();
  checkStages<3>();
  checkStages<4>();
}

/// Each warp fills its part of a stage and arrives for itself; one warp uses the stages.
template <int stages>
void fillTogether(unsigned *received) {
  constexpr int fillers = 3;
  Ring<stages> ring(getSharedMemory());
  const unsigned buffers = Ring<stages>::bytes;
  if (threadIdx.x == 0)
    ring.init(fillers, 1);
  __syncthreads();
  const int warp = threadIdx.x / 32;
  for (int i = 0; i < kTiles; ++i) {
    if (warp < fillers) {
      ring.awaitFree();
      rest(warp * i % 4);
      if (threadIdx.x % 32 == 0)
        storeSharedWord(buffers + (ring.getStage() * fillers + warp) * 4, 100 * i + warp);
      finishWriting(ring);
    } else {
      ring.awaitFull();
      if (threadIdx.x % 32 < fillers)
        received[i * fillers + threadIdx.x % 32] =
            loadSharedWord(buffers + (ring.getStage() * fillers + threadIdx.x % 32) * 4);
      __syncwarp();
      ring.release(threadIdx.x % 32 == 0);
    }
  }
}

TEST(RingTest, IsFullWhenAllFillersHaveArrived) {
  std::vector<unsigned> received(kTiles * 3), expected;
  for (unsigned i = 0; i < kTiles; ++i)
    for (unsigned warp = 0; warp < 3; ++warp)
      expected.push_back(100 * i + warp);
  launchBlocks(fillTogether<2>, 1, 128, 256, received.data());
  EXPECT_EQ(received, expected);
}

} // namespace
