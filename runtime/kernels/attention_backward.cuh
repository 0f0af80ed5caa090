//===- attention_backward.cuh - Gradients of attention ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// With P = exp(scale · Q · Kᵀ − logSumExp) and D = rowsum(dO ∘ O):
//   dS = P ∘ (dO · Vᵀ − D), dQ = scale · dS · K, dK = scale · dSᵀ · Q, dV = Pᵀ · dO.
// P is computed twice, each time in the shape that is needed: blocks of one function add up dQ of a tile of queries,
// those of the next dK and dV of a tile of keys. So everything is added up in registers, in one order. The first leaves
// D for the second.

/// Multiplies a result by `factor` and writes it to columns `firstColumn`, … of a head's rows `first`, …, by way of the
/// warp's rows of a tile. `to` may be null: then nobody wants it.
template <class Rows, class Tile, class Layout, class Result, class Element>
__device__ inline void writeResult(Result &result, float factor, unsigned tile, Element *to, int batch, int head,
                                   int first, int end, int firstColumn) {
  if (!to)
    return;
#pragma unroll
  for (int i = 0; i < Rows::perLane; ++i)
#pragma unroll
    for (int j = 0; j < Result::perRow; ++j)
      result.values[i][j] *= factor;
  // Only this warp has read what lies there.
  __syncwarp();
  Rows::template write<Tile>(tile, result, firstColumn);
  __syncwarp();
  Tile::template store<Layout, Rows::perWarp, Result::columns>(Layout::getVectors(to, batch, head, first), tile,
                                                               end - first, firstColumn);
}
