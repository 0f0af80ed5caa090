//===- AttentionCost.h - Predicted time of attention's tiles ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts the clocks of a function of the schedule `attention`, to rank tile sizes for `--autotune`:
//
//   per tile  the largest of  FLOPs / FLOPs per clock              tensor cores, or fused multiply-adds
//                             exponentials / 16                    special function units
//                             bytes from shared memory / 128       left and right operands of each matmul
//                             bytes streamed / 48                  from the second-level cache
//             and of the latency of one tile divided by the blocks that hide it
//   in all    per tile · tiles per block · resident blocks · rounds
//
// Rounds are the blocks of the grid, divided by those that all multiprocessors run at the same time, rounded up: the
// last round costs as much as a full one. Tiles that the causal mask hides are not counted.
//
// Sources: exponentials per clock from the table "Throughput of Native Arithmetic Instructions" of the CUDA C++
// programming guide; bytes per clock from the same guide (32 banks of 4 bytes) and from "NVIDIA A100 Tensor Core GPU
// Architecture" (5120 bytes per clock for 108 multiprocessors); FLOPs per clock from the latter. All are for
// compute capability 8.0. Ranks depend on their ratios only.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ATTENTIONCOST_H
#define CS336_LIB_TARGET_CUDA_ATTENTIONCOST_H

#include "AttentionTiles.h"
#include "cs336/Target/CUDA/Occupancy.h"

namespace cs336::cuda {

/// The work of a function of attention with some tile sizes.
struct AttentionWork {
  AttentionArithmetic arithmetic;
  BlockResources block;
  int64_t blocks;
  /// Visible tiles of all blocks.
  int64_t tiles;
  /// Streamed tiles in shared memory: with one, a block waits for every tile.
  int64_t stages;
  // Per tile: FLOPs of matmuls, exponentials, bytes read from shared memory, and bytes copied to it.
  int64_t flops, exponentials, sharedBytes, streamedBytes;
};

/// Returns the predicted clocks; infinity if a multiprocessor cannot run a block.
double predictClocks(const AttentionWork &work, const TargetDescription &target);

/// Returns the number of tiles of `tile` streamed rows that blocks of `rows` rows compute for one head. `length` and
/// `streamed` are the rows of both sides. If `isCausal`, a query sees the keys up to its position, and `ownsKeys` is
/// true if the blocks' rows are keys.
int64_t countVisibleTiles(int64_t length, int64_t rows, int64_t streamed, int64_t tile, bool isCausal, bool ownsKeys);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ATTENTIONCOST_H
