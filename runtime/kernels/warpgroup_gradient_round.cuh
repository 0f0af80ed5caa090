//===- warpgroup_gradient_round.cuh - dQ from sums in float32 ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Scales the sums of dQ and rounds them. Each block is a warpgroup that does a tile of queries. The sums
/// that were added last come first, because the second-level cache still has them.
template <class Problem, class Wgmma>
class WarpgroupGradientRound {
  using Workspace = GradientWorkspace<Problem>;
  using Queries = SlabTile<Wgmma, Problem::headDim, Workspace::queriesPerTile>;

public:
  static constexpr int threads = 128, sharedBytes = Queries::bytes + slabSlack;
  static constexpr long long blocks = Workspace::tiles;

  __device__ static void run(const TensorMap *queryGradientMap, unsigned char *memory) {
    const unsigned tile = getSlabMemory();
    const Workspace workspace{memory};
    const int number = Workspace::tiles - 1 - blockIdx.x;
    const int firstQuery = number % Workspace::queryTiles * Workspace::queriesPerTile;
    float sums[Workspace::columns / 2];
    if (seesKeys(workspace, number / Workspace::queryTiles / Problem::queryHeads, firstQuery))
#pragma unroll
      for (int i = 0; i < Workspace::columns / 8; ++i) {
        const int slab = i / 8;
        const float4 values =
            reinterpret_cast<const float4 *>(workspace.getSums(number, slab))[i % 8 * 128 + threadIdx.x];
        sums[4 * i] = values.x, sums[4 * i + 1] = values.y, sums[4 * i + 2] = values.z, sums[4 * i + 3] = values.w;
      }
    else
      clear(sums);
    const float factors[2] = {Problem::scale, Problem::scale};
    Queries::write(tile, sums, factors);
    publishSharedWrites();
    __syncthreads();
    if (threadIdx.x == 0) {
      const int head = number / Workspace::queryTiles;
      Queries::store(*queryGradientMap, tile, firstQuery, head % Problem::queryHeads, head / Problem::queryHeads);
      awaitStoresRead();
    }
  }

private:
  /// Returns whether a tile of keys added to the sums of these queries. With a score function, it may be that none did.
  __device__ static bool seesKeys(const Workspace &workspace, int batch, int firstQuery) {
    if constexpr (hidesTiles<Problem>)
      return workspace.getSeenKeys(batch, firstQuery / Workspace::queriesPerTile).count() > 0;
    else if constexpr (ScoreOf<Problem>::exists)
      return VisiblePairs<Problem>::canSee(firstQuery, firstQuery + Workspace::queriesPerTile, 0, Problem::keys);
    else
      return true;
  }
};
