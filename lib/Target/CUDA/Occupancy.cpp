//===- Occupancy.cpp - Blocks that a multiprocessor runs at once ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/Occupancy.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

using namespace cs336;
using namespace cs336::cuda;

static constexpr int64_t kWarpThreads = 32;
static constexpr int64_t kPartitions = 4;
static constexpr int64_t kRegisterUnit = 256;
static constexpr int64_t kMaxRegistersPerThread = 255;
static constexpr int64_t kSharedUnit = 128;
static constexpr int64_t kReservedSharedBytes = 1024;

llvm::StringRef cuda::stringifyOccupancyLimit(OccupancyLimit limit) {
  switch (limit) {
  case OccupancyLimit::Warps:
    return "warps";
  case OccupancyLimit::Blocks:
    return "blocks";
  case OccupancyLimit::Registers:
    return "registers";
  case OccupancyLimit::SharedMemory:
    return "shared memory";
  }
  llvm_unreachable("every limit has a name");
}

/// Returns the number of warps for which a multiprocessor has registers.
static int64_t countWarpsWithRegisters(int64_t registersPerThread, const TargetDescription &target) {
  if (registersPerThread == 0)
    return target.warpsPerMultiprocessor;
  if (registersPerThread > kMaxRegistersPerThread)
    return 0;
  auto registersPerWarp = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(registersPerThread * kWarpThreads), static_cast<uint64_t>(kRegisterUnit)));
  return target.registersPerMultiprocessor / kPartitions / registersPerWarp * kPartitions;
}

static int64_t countBlocksWithSharedMemory(int64_t sharedBytes, const TargetDescription &target) {
  if (sharedBytes > target.sharedBytesPerBlock)
    return 0;
  auto bytes = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(sharedBytes + kReservedSharedBytes), static_cast<uint64_t>(kSharedUnit)));
  return target.sharedBytesPerMultiprocessor / bytes;
}

Occupancy cuda::computeOccupancy(const BlockResources &block, const TargetDescription &target) {
  int64_t warpsPerBlock = llvm::divideCeil(block.threads, kWarpThreads);
  if (warpsPerBlock == 0)
    return {};
  const std::pair<OccupancyLimit, int64_t> limits[] = {
      {OccupancyLimit::Warps, target.warpsPerMultiprocessor / warpsPerBlock},
      {OccupancyLimit::Blocks, target.blocksPerMultiprocessor},
      {OccupancyLimit::Registers, countWarpsWithRegisters(block.registersPerThread, target) / warpsPerBlock},
      {OccupancyLimit::SharedMemory, countBlocksWithSharedMemory(block.sharedBytes, target)}};
  Occupancy occupancy{limits[0].second, 0, 0, limits[0].first};
  for (auto [limit, blocks] : limits) {
    if (blocks >= occupancy.blocks)
      continue;
    occupancy.blocks = blocks;
    occupancy.limit = limit;
  }
  occupancy.warps = occupancy.blocks * warpsPerBlock;
  occupancy.share = static_cast<double>(occupancy.warps) / static_cast<double>(target.warpsPerMultiprocessor);
  return occupancy;
}
