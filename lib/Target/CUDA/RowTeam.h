//===- RowTeam.h - The threads that share a row -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_ROWTEAM_H
#define CS336_LIB_TARGET_CUDA_ROWTEAM_H

#include <cstdint>
#include <string>

namespace cs336::cuda {

/// Neighbouring threads that share the vectors of a row in turns.
struct RowTeam {
  /// The number of threads: a power of two within a warp, or whole warps of a block.
  int64_t threads;
  /// The maximum number of vectors per thread.
  int64_t steps;
  /// Returns whether a thread loads all its vectors once and holds them in registers through all passes; if not, every
  /// pass reads the row again.
  bool holdsRow;

  bool isWithinWarp() const { return threads <= threadsPerWarp; }
  int64_t getThreadsPerBlock() const { return isWithinWarp() ? 4 * threadsPerWarp : threads; }
  int64_t getRowsPerBlock() const { return getThreadsPerBlock() / threads; }

  /// Chooses a team for rows of this many vectors, each of which takes this many registers of 4 bytes.
  static RowTeam choose(int64_t vectors, int64_t width, int64_t registersPerVector);

  static constexpr int64_t threadsPerWarp = 32;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ROWTEAM_H
