//===- Occupancy.h - Blocks that a multiprocessor runs at once --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The occupancy of a kernel is the number of warps that a multiprocessor runs at the same time, divided by the most
// that it can run ("Occupancy" in the CUDA C++ Best Practices Guide). All warps of a block start together, so the
// number of blocks is the least of four quotients, rounded down:
//
// - the warps of a multiprocessor, by those of a block;
// - the blocks that a multiprocessor can run;
// - the warps that have registers, by those of a block. A multiprocessor has four partitions with a quarter of the
//   registers each, and a warp takes its registers from one of them, in units of 256;
// - the shared memory of a multiprocessor, by that of a block, which is static and dynamic memory, and 1 KiB that CUDA
//   reserves from compute capability 8.0 on, rounded up to 128 bytes.
//
// The limits are from the table "Technical Specifications per Compute Capability" of the CUDA C++ programming guide.
// The units are those of NVIDIA's occupancy calculator for compute capabilities from 8.0 on.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_OCCUPANCY_H
#define CS336_TARGET_CUDA_OCCUPANCY_H

#include "cs336/Target/CUDA/TargetDescription.h"

#include <cstdint>

namespace cs336::cuda {

/// The resources that a block of a kernel takes from its multiprocessor.
struct BlockResources {
  int64_t threads = 0;
  int64_t registersPerThread = 0;
  /// Static and dynamic shared memory, without the part that CUDA reserves.
  int64_t sharedBytes = 0;
};

enum class OccupancyLimit { Warps, Blocks, Registers, SharedMemory };

/// Returns "warps", "blocks", "registers" or "shared memory".
llvm::StringRef stringifyOccupancyLimit(OccupancyLimit limit);

struct Occupancy {
  /// Blocks per multiprocessor; 0 if a block does not fit.
  int64_t blocks = 0;
  int64_t warps = 0;
  /// `warps` as a share of those of the multiprocessor, from 0 to 1.
  double share = 0;
  /// The limit that is reached first; among equal ones, the first in the order of the enumeration.
  OccupancyLimit limit = OccupancyLimit::Warps;
};

/// Computes the occupancy of a kernel whose grid has enough blocks. Clusters are not considered: their blocks start
/// together on neighbouring multiprocessors, so that fewer may fit.
Occupancy computeOccupancy(const BlockResources &block, const TargetDescription &target);

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_OCCUPANCY_H
