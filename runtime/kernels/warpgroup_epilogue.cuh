//===- warpgroup_epilogue.cuh - Results of warpgroups to memory -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// All threads of a computing warpgroup call these functions together. Results of 64 rows go through shared memory, from
// where the elected thread stores them by tensor maps, which leave out rows before the first position or past the last
// one, and columns past headDim. `Tile` is a tile with the fields first, head and batch.

/// Stores the log-sum-exp of the thread's first or second row, whose numerators have this sum. One thread per row
/// stores. `logSumExp` may be null.
template <class Problem, class Softmax, class Tile>
__device__ inline void storeLogSumExp(float *logSumExp, const Softmax &softmax, float sum, const Tile &tile, int row,
                                      const WarpgroupLane &lane) {
  const int query = tile.first + lane.row + 8 * row;
  if (logSumExp && lane.column == 0 && query >= 0 && query < Problem::queries)
    *Problem::LogSumExpLayout::getVectors(logSumExp, tile.batch, tile.head, query) = softmax.getLogSumExp(row, sum);
}

/// Starts to store the output, each value times the factor of its row, through the 64 rows of a tile of `Rows` that
/// begin at `own`. No other warpgroup uses them. The next call waits for the copy; the elected thread also waits before
/// it ends.
template <class Rows, class Tile, int size>
__device__ inline void storeOutput(const TensorMap &output, unsigned own, const float (&result)[size],
                                   const float (&factors)[2], const Tile &tile, const WarpgroupLane &lane) {
  if (lane.isElected)
    awaitStoresRead();
  lane.synchronise();
  Rows::write(own, result, factors);
  publishSharedWrites();
  lane.synchronise();
  // A copy of a box that lies before the tensor is an illegal instruction.
  const int first = tile.first + lane.warpgroup * rowsPerWarpgroup;
  if (lane.isElected && (Tile::missing == 0 || first >= 0))
    Rows::store(output, own, first, tile.head, tile.batch);
}

/// Stores dQ, times `scale`, through the 64 rows of a tile of `Rows` that begin at `own`, and waits until they are
/// read. No other warpgroup uses them. `map` may be null.
template <class Rows, class Tile, int size>
__device__ inline void storeQueryGradient(const TensorMap *map, unsigned own, const float (&result)[size], float scale,
                                          const Tile &tile, const WarpgroupLane &lane) {
  const float factors[2] = {scale, scale};
  Rows::write(own, result, factors);
  publishSharedWrites();
  lane.synchronise();
  if (lane.isElected && map) {
    Rows::store(*map, own, tile.first + lane.warpgroup * rowsPerWarpgroup, tile.head, tile.batch);
    awaitStoresRead();
  }
}

/// Stores dK, times `scale`, and dV through the warpgroup's rows of the keys, which begin at `own`, and of the values,
/// `values` bytes after them, and waits until they are read. Other warpgroups do not use these rows. The maps may be
/// null.
template <class Rows, int values, class Tile, int size>
__device__ inline void storeKeyGradients(const TensorMap *keyMap, const TensorMap *valueMap, const unsigned &own,
                                         const float (&keyResult)[size], const float (&valueResult)[size], float scale,
                                         const Tile &tile, const WarpgroupLane &lane) {
  const float factors[2] = {scale, scale}, ones[2] = {1, 1};
  lane.synchronise();
  Rows::write(own, keyResult, factors);
  Rows::write(own + values, valueResult, ones);
  publishSharedWrites();
  lane.synchronise();
  if (lane.isElected) {
    const int first = tile.first + lane.warpgroup * rowsPerWarpgroup;
    if (keyMap)
      Rows::store(*keyMap, own, first, tile.head, tile.batch);
    if (valueMap)
      Rows::store(*valueMap, own + values, first, tile.head, tile.batch);
    awaitStoresRead();
  }
}
