//===- ScoreTile.cpp - Tile sizes of attention's scores -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/ScoreTile.h"

#include "AttentionTiles.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

std::string ScoreTile::describeLegalSides() {
  return "a multiple of " + std::to_string(multiple) + " from " + std::to_string(least) + " to " + std::to_string(most);
}

FailureOr<SmallVector<TileMemory, 2>> cs336::cuda::getTileMemory(const ScoreTile &tile, int64_t headDim, Type element,
                                                                 Precision precision, bool isBackward,
                                                                 std::string &whyNot) {
  // Only the head_dim counts.
  AttentionSizes sizes{1, 1, 1, 1, 1, headDim};
  whyNot = AttentionTiles::whyNone(sizes, element);
  if (!whyNot.empty())
    return failure();
  static constexpr AttentionStage forward[] = {AttentionStage::Forward};
  static constexpr AttentionStage backward[] = {AttentionStage::BackwardQueries, AttentionStage::BackwardKeys};
  SmallVector<TileMemory, 2> memory;
  for (AttentionStage stage : isBackward ? ArrayRef(backward) : ArrayRef(forward))
    memory.push_back(
        {AttentionTiles::getStageName(stage),
         AttentionTiles::getLeastSharedBytes(stage, tile, sizes, element, getAttentionArithmetic(element, precision))});
  return memory;
}
