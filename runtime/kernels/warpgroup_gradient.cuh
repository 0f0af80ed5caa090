//===- warpgroup_gradient.cuh - Parts of the gradient in one pass -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The gradient of attention in one pass over the scores takes three functions: WarpgroupGradientPrepare computes what
// all blocks need, WarpgroupGradientSums sums dK and dV in registers and dQ in float32 in the workspace, and
// WarpgroupGradientRound rounds dQ.

/// Returns a number that the compiler does not know, so that it does not write out the first steps of a loop, which
/// takes registers.
__device__ inline int hideConstant(int number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// The workspace of the three functions.
template <class Problem>
struct GradientWorkspace {
  static constexpr int queriesPerTile = 64, keysPerTile = 128, columns = (Problem::headDim + 15) / 16 * 16;
  static constexpr int queryTiles = countTiles(Problem::queries, queriesPerTile);
  static constexpr int slabColumns = 64, slabs = countTiles(columns, slabColumns);
  /// Columns of the last slab; the others have slabColumns.
  static constexpr int lastColumns = columns - (slabs - 1) * slabColumns;
  /// Per tile of queries: the logarithms of the sums of exponentials, in units of the exponent of two, minus what a
  /// linear bias of the query has more than that of the tile's first query; then −D.
  static constexpr int statisticsPerTile = 2 * queriesPerTile;

  static constexpr long long tiles = static_cast<long long>(Problem::batches) * Problem::queryHeads * queryTiles;
  static constexpr long long keyHeads = static_cast<long long>(Problem::batches) * Problem::keyHeads;
  // Offsets in bytes.
  static constexpr long long statistics = tiles * queriesPerTile * columns * 4;
  static constexpr long long means = statistics + tiles * statisticsPerTile * 4;
  static constexpr long long turns = means + keyHeads * columns * 4, nextTile = turns + tiles * slabs * 4;
  /// If data hides tiles: their bits, once for blocks of keys and once for the sums of dQ.
  static constexpr long long bits = nextTile + 4;
  using MaskOfKeys = TileMask<Problem, queriesPerTile, keysPerTile, /*ownsKeys=*/true>;
  using MaskOfQueries = TileMask<Problem, queriesPerTile, keysPerTile, /*ownsKeys=*/false>;
  static constexpr long long bytes = hidesTiles<Problem> ? bits + MaskOfKeys::bytes + MaskOfQueries::bytes : bits;

  unsigned char *memory;

  /// Returns the number of a tile of queries, less than 2^31.
  __device__ static int getTile(int batch, int head, int queryTile) {
    return (batch * Problem::queryHeads + head) * queryTiles + queryTile;
  }
  /// Returns the sums of a slab of dQ. With 4 values per thread in the order of the registers of a result: values 4i, …
  /// of thread t are at (128 i + t) · 4.
  __device__ float *getSums(int tile, int slab) const {
    return reinterpret_cast<float *>(memory) +
           (static_cast<long long>(tile) * columns + slab * slabColumns) * queriesPerTile;
  }
  __device__ float *getStatistics(int tile) const {
    return reinterpret_cast<float *>(memory + statistics) + static_cast<long long>(tile) * statisticsPerTile;
  }
  /// Returns the mean of the keys of a head, or zero in columns in which it is small.
  __device__ float *getMean(int batch, int keyHead) const {
    return reinterpret_cast<float *>(memory + means) +
           (static_cast<long long>(batch) * Problem::keyHeads + keyHead) * columns;
  }
  /// Returns the number of blocks that have added to a slab of dQ.
  __device__ unsigned *getTurns(int tile, int slab) const {
    return reinterpret_cast<unsigned *>(memory + turns) + static_cast<long long>(tile) * slabs + slab;
  }
  /// Returns the number of the next tile of keys that a block takes.
  __device__ unsigned *getNextTile() const { return reinterpret_cast<unsigned *>(memory + nextTile); }
  /// Return the tiles of queries that see a tile of keys, and the tiles of keys that a tile of queries sees.
  __device__ SeenTiles<MaskOfKeys::streamedTiles> getSeenQueries(int batch, int keyTile, bool isDescending) const {
    return {MaskOfKeys::getRow(getBits(), batch, keyTile), isDescending};
  }
  __device__ SeenTiles<MaskOfQueries::streamedTiles> getSeenKeys(int batch, int queryTile) const {
    const TileBits *ofQueries = getBits() + MaskOfKeys::bytes / sizeof(TileBits);
    return {MaskOfQueries::getRow(ofQueries, batch, queryTile), /*isDescending=*/false};
  }

private:
  __device__ const TileBits *getBits() const { return reinterpret_cast<const TileBits *>(memory + bits); }
};

/// The tiles of queries of one head that a block visits for a KeyTile, in order: all of the tile's, unless data hides
/// some.
template <class Problem, class Tile, bool skipsHidden = hidesTiles<Problem>>
class QueryTilesInOrder {
public:
  __device__ QueryTilesInOrder(const GradientWorkspace<Problem> &, const Tile &tile)
      : tile(tile), left(hideConstant(tile.queryTilesPerHead)) {}
  __device__ int count() const { return left; }
  /// Takes the next one. Returns false after the last one.
  __device__ bool take(VisitedTile &next) {
    if (left == 0)
      return false;
    next = {tile.getQueryTile(left--), 1, 1};
    return true;
  }

private:
  const Tile &tile;
  int left;
};

template <class Problem, class Tile>
class QueryTilesInOrder<Problem, Tile, true> {
public:
  __device__ QueryTilesInOrder(const GradientWorkspace<Problem> &workspace, const Tile &tile)
      : seen(workspace.getSeenQueries(tile.batch, tile.keyTile, tile.isBackwards)) {}
  __device__ int count() const { return seen.count(); }
  __device__ bool take(VisitedTile &next) { return seen.take(next); }

private:
  SeenTiles<GradientWorkspace<Problem>::MaskOfKeys::streamedTiles> seen;
};

#ifdef __CUDACC__

/// Loads two consecutive floats.
__device__ inline void loadSharedPair(float (&pair)[2], unsigned address) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];\n" : "=f"(pair[0]), "=f"(pair[1]) : "r"(address) : "memory");
}

#endif
