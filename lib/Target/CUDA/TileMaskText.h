//===- TileMaskText.h - Bits of tiles that data hides -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_TILEMASKTEXT_H
#define CS336_LIB_TARGET_CUDA_TILEMASKTEXT_H

#include "AttentionTiles.h"

namespace cs336::cuda {

/// An instance of TileMask of runtime/kernels/tile_mask.cuh, which computes the same numbers: two bits per part of
/// a tile of queries and keys.
struct TileMaskText {
  /// Threads of a block that writes bits, one warp per bit of a word.
  static constexpr int64_t threads = 1024;
  /// The size of TileBits, the bits of 32 tiles. A row has one more, for its work and a rank.
  static constexpr int64_t bytesPerWord = 12;

  int64_t queriesPerTile, keysPerTile;
  /// True if a row of bits belongs to a tile of keys.
  bool ownsKeys;
  /// The parts of an own tile that have bits of their own.
  int64_t parts = 1;

  /// Returns the number of rows of bits, and of the words in a row.
  int64_t getRows(const AttentionSizes &sizes) const;
  int64_t getWords(const AttentionSizes &sizes) const;
  int64_t getBytes(const AttentionSizes &sizes) const;
  std::string print(llvm::StringRef problem) const;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_TILEMASKTEXT_H
