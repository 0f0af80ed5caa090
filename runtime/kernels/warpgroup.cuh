//===- warpgroup.cuh - The rows of a warpgroup ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Attention on sm_90a. Blocks stay on their multiprocessors and take one tile after the other. The first warpgroup of a
// block, threads 0 to 127, starts all copies. Each other warpgroup computes 64 rows of the tile; computing warpgroups
// have numbers from 0 on. A result of 64 rows and n columns takes n / 2 registers per thread, in wgmma.cuh's order.

constexpr int rowsPerWarpgroup = 64;

/// The part that a thread has of a warpgroup's rows.
struct WarpgroupLane {
  /// The number of the computing warpgroup.
  int warpgroup;
  /// The thread's first row of the block's tile, and its first column of a result. It also has row + 8.
  int row, column;
  /// True for one thread of the warpgroup.
  bool isElected;

  __device__ explicit WarpgroupLane(int warpgroup)
      : warpgroup(warpgroup), row(warpgroup * rowsPerWarpgroup + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4),
        column(threadIdx.x % 4 * 2), isElected(threadIdx.x % 128 == 0) {}

  /// Waits for all threads of the warpgroup.
  __device__ void synchronise() const { awaitThreads<128>(8 + warpgroup); }
};

/// Rounds a result and packs it as a left operand.
template <class Element, int size>
__device__ inline void packLeft(unsigned (&left)[size / 2], const float (&result)[size]) {
#pragma unroll
  for (int i = 0; i < size / 2; ++i)
    left[i] = TensorCore<Element>::pack(result[2 * i], result[2 * i + 1]);
}

template <int size>
__device__ inline void clear(float (&values)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    values[i] = 0;
}

__device__ inline float sumOfRow(float part) {
  return reduceWarp<4>(part, [](float a, float b) { return a + b; });
}
