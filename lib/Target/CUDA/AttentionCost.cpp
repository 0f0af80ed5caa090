//===- AttentionCost.cpp - Predicted time of attention's tiles ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionCost.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace cs336;
using namespace cs336::cuda;

// Per clock and multiprocessor.
static constexpr double exponentialsPerClock = 16, sharedBytesPerClock = 128, streamedBytesPerClock = 48;
/// Clocks of one tile of one block alone: matmuls wait for the softmax, and all warps for each other.
static constexpr double tileLatency = 500;
/// Clocks until a tile arrives from the second-level cache, if no other tile is computed in the meantime.
static constexpr double copyLatency = 500;

static double getFlopsPerClock(AttentionArithmetic arithmetic) {
  switch (arithmetic) {
  case AttentionArithmetic::TensorCores:
    return 2048;
  case AttentionArithmetic::TensorFloats:
    return 1024;
  case AttentionArithmetic::FusedMultiplyAdds:
    return 128;
  }
  llvm_unreachable("every arithmetic has a rate");
}

double cuda::predictClocks(const AttentionWork &work, const TargetDescription &target) {
  int64_t resident = computeOccupancy(work.block, target).blocks;
  if (resident == 0)
    return std::numeric_limits<double>::infinity();
  int64_t perRound = target.multiprocessors * resident;
  int64_t rounds = llvm::divideCeilSigned(work.blocks, perRound);
  // A grid of less than a round has fewer blocks to hide latency with.
  resident = std::min(resident, llvm::divideCeilSigned(work.blocks, target.multiprocessors));
  auto latency = tileLatency + (work.stages == 1 ? copyLatency : 0);
  double perTile = std::max({static_cast<double>(work.flops) / getFlopsPerClock(work.arithmetic),
                             static_cast<double>(work.exponentials) / exponentialsPerClock,
                             static_cast<double>(work.sharedBytes) / sharedBytesPerClock,
                             static_cast<double>(work.streamedBytes) / streamedBytesPerClock,
                             latency / static_cast<double>(resident)});
  double tilesPerBlock = static_cast<double>(work.tiles) / static_cast<double>(work.blocks);
  return perTile * tilesPerBlock * static_cast<double>(resident * rounds);
}

int64_t cuda::countVisibleTiles(int64_t length, int64_t rows, int64_t streamed, int64_t tile, bool isCausal,
                                bool ownsKeys) {
  int64_t tiles = 0, all = llvm::divideCeilSigned(streamed, tile);
  for (int64_t begin = 0; begin < length; begin += rows) {
    int64_t end = std::min(begin + rows, length);
    if (!isCausal)
      tiles += all;
    else if (ownsKeys)
      tiles += all - std::min(begin, streamed) / tile;
    else
      tiles += llvm::divideCeilSigned(std::min(end, streamed), tile);
  }
  return tiles;
}
