//===- attention_backward.cuh - Gradients of attention ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// With P = exp(scale · Q · Kᵀ − logSumExp) and D = rowsum(dO ∘ O):
//   dS = P ∘ (dO · Vᵀ − D), dQ = scale · dS · K, dK = scale · dSᵀ · Q, dV = Pᵀ · dO.
// P is computed twice, in the two shapes that are needed: blocks of the first function sum dQ of a tile of queries,
// blocks of the second function sum dK and dV of a tile of keys. All sums therefore stay in registers and have one
// order. The first function stores D for the second.

/// Multiplies a result by `factor` and stores it to columns `firstColumn`, … of a head's rows `first`, …. The warp's
/// rows of a tile in shared memory stage it. Stores nothing if `to` is null.
template <class RowBlock, class Tile, class Layout, class Result, class Element>
__device__ inline void writeResult(Result &result, float factor, unsigned tile, Element *to, int batch, int head,
                                   int first, int end, int firstColumn) {
  if (!to)
    return;
#pragma unroll
  for (int i = 0; i < RowBlock::perLane; ++i)
#pragma unroll
    for (int j = 0; j < Result::valuesPerRow; ++j)
      result.values[i][j] *= factor;
  // Only this warp has read these rows of the tile.
  __syncwarp();
  RowBlock::template write<Tile>(tile, result, firstColumn);
  __syncwarp();
  Tile::template store<Layout, RowBlock::perWarp, Result::columns>(Layout::getVectors(to, batch, head, first), tile,
                                                                   end - first, firstColumn);
}
