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

/// Neighbouring threads that take the vectors of a row in turns.
struct RowTeam {
  /// A power of two of them within a warp, or a block of whole warps.
  int64_t threads;
  /// Vectors that a thread takes at most.
  int64_t steps;
  /// Returns whether a thread loads all its vectors once and holds them in registers through all passes; if not, every
  /// pass reads the row again.
  bool holdsRow;

  bool isWithinWarp() const { return threads <= threadsPerWarp; }
  int64_t getThreadsPerBlock() const { return isWithinWarp() ? 4 * threadsPerWarp : threads; }
  int64_t getRowsPerBlock() const { return getThreadsPerBlock() / threads; }

  /// For rows of that many vectors, each of which takes so many registers of 4 bytes to hold.
  static RowTeam choose(int64_t vectors, int64_t width, int64_t registersPerVector);

  static constexpr int64_t threadsPerWarp = 32;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_ROWTEAM_H
