//===- ScoreTile.h - Tile sizes of attention's scores -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_CUDA_SCORETILE_H
#define CS336_TARGET_CUDA_SCORETILE_H

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace cs336::cuda {

/// A tile of the scores that a block of the schedule `attention` computes at a time.
struct ScoreTile {
  /// The legal sizes of a side: multiples of `multiple` from `least` to `most`.
  static constexpr int64_t least = 16, most = 256, multiple = 16;

  int64_t queries, keys;

  static bool isLegalSide(int64_t side) { return side >= least && side <= most && side % multiple == 0; }
  /// "a multiple of 16 from 16 to 256"
  static std::string describeLegalSides();

  bool operator==(const ScoreTile &) const = default;
};

/// The shared memory of a block.
struct TileMemory {
  /// "forward"; or "queries" and "keys" of the gradient: dQ, and dK and dV.
  llvm::StringRef function;
  /// Bytes of dynamic shared memory with the smallest number of tiles with which the function works.
  int64_t requiredBytes;
};

/// Returns the shared memory that blocks require for such a tile, one entry per function of attention or of its
/// gradient. Fails if the schedule `attention` rejects such heads; `whyNot` then completes the sentence "it …".
mlir::FailureOr<llvm::SmallVector<TileMemory, 2>> getTileMemory(const ScoreTile &tile, int64_t headDim,
                                                                mlir::Type element, Precision precision,
                                                                bool isBackward, std::string &whyNot);

} // namespace cs336::cuda

#endif // CS336_TARGET_CUDA_SCORETILE_H
