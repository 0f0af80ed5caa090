//===- warpgroup_gradient_block.cuh - Shared memory of a block --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The parts that the warpgroups of WarpgroupGradientSums share: tiles in shared memory, and the rings through which
/// they pass them on. Each thread has its own copy, with its own positions in the rings.
///
///   ring       from                             to                                a stage contains
///   queryRing  copies                           dK and dV                         queries, dO, statistics
///   slopeRing  dK and dV, each 64 of 128 rows   dQ                                dS
///   sumRing    dQ                               the thread that adds this stage   dQ of a slab
///
/// A tile of keys, its values and its number have one buffer, with three barriers: it is full, it is free, and dQ does
/// not read the keys any more. Each has a phase per tile. Beside the tile's number are the parity of this phase and the
/// numbers of queries' tiles, because the warpgroups for dK and dV have no registers to keep them. For a score
/// function, the first key, and each stage's tile of queries and head, are there too. If data hides tiles, the last
/// tiles of queries are there for the threads that add.
template <class ProblemOfBlock, class Wgmma, int headsPerGroup, int queryStages, int slopeStages, int sumStages>
struct GradientBlock {
  using Problem = ProblemOfBlock;
  using Element = typename Wgmma::Element;
  using Workspace = GradientWorkspace<Problem>;
  /// Warpgroups that compute dK and dV. One more copies and adds, and one sums dQ.
  static constexpr int warpgroups = 2, adders = sumStages;
  static constexpr int queriesPerTile = Workspace::queriesPerTile, keysPerTile = Workspace::keysPerTile;
  static_assert(keysPerTile == rowsPerWarpgroup * warpgroups);
  using Queries = SlabTile<Wgmma, Problem::headDim, queriesPerTile>;
  using Keys = SlabTile<Wgmma, Problem::headDim, keysPerTile>;
  /// dS: rows are keys.
  using Slopes = SlabTile<Wgmma, queriesPerTile, keysPerTile>;
  using Tile = KeyTile<Problem, queriesPerTile, keysPerTile, headsPerGroup>;
  static constexpr int statisticsBytes = Workspace::statisticsPerTile * 4;
  static constexpr int sumBytes = queriesPerTile * Workspace::slabColumns * 4;
  static_assert(adders <= 3, "the first warpgroup has three warps beside the one that copies");

  // Offsets in shared memory.
  static constexpr int values = Keys::bytes, centredKeys = values + Keys::bytes, queries = centredKeys + Keys::bytes;
  static constexpr int gradients = queries + queryStages * Queries::bytes;
  static constexpr int slopes = gradients + queryStages * Queries::bytes;
  static constexpr int sums = slopes + slopeStages * Slopes::bytes, statistics = sums + sumStages * sumBytes;
  static constexpr int keyBarriers = statistics + queryStages * statisticsBytes;
  static constexpr int fullBarrier = keyBarriers, freeBarrier = keyBarriers + 8, centredBarrier = keyBarriers + 16;
  static constexpr int tileWord = keyBarriers + 24, lengthWord = keyBarriers + 28, queryBarriers = keyBarriers + 32;
  static constexpr int slopeBarriers = queryBarriers + Ring<queryStages>::bytes;
  static constexpr int sumBarriers = slopeBarriers + Ring<slopeStages>::bytes;
  static constexpr int firstKeyWord = sumBarriers + Ring<sumStages>::bytes, queryTileWords = firstKeyWord + 4;
  static constexpr int scoreBytes = ScoreOf<Problem>::exists ? 4 + 8 * queryStages : 0;
  static constexpr int stepWords = firstKeyWord + scoreBytes;
  /// The thread that copies is at most this many tiles of queries before those that add.
  static constexpr int stepsAtOnce = 16;
  static_assert(stepsAtOnce > queryStages + slopeStages + sumStages + 2);
  /// With the bytes by which the first tile may have to be moved for its alignment.
  static constexpr int sharedBytes = stepWords + (hidesTiles<Problem> ? 4 * stepsAtOnce : 0) + slabSlack;

  __device__ explicit GradientBlock(unsigned char *memory)
      : workspace{memory}, shared(getSlabMemory()), queryRing(shared + queryBarriers),
        slopeRing(shared + slopeBarriers), sumRing(shared + sumBarriers) {}

  /// Called by one thread.
  __device__ void initBarriers() const {
    constexpr int warps = 4;
    initBarrier(shared + fullBarrier, 1);
    initBarrier(shared + freeBarrier, warpgroups + 1 + adders);
    initBarrier(shared + centredBarrier, 1);
    queryRing.init(1, warpgroups);
    slopeRing.init(warps * warpgroups, 1);
    sumRing.init(warps, 1);
    publishBarriers();
  }

  /// Waits for the tile of keys whose phase has this parity, 0 first. Returns false after the last tile.
  __device__ bool awaitTile(unsigned parity) const {
    awaitPhase(shared + fullBarrier, parity);
    return getTileNumber() < Tile::count;
  }
  __device__ int getTileNumber() const { return loadSharedWord(shared + tileWord) / 2; }
  __device__ unsigned getTileParity() const { return loadSharedWord(shared + tileWord) % 2; }
  __device__ int getQueryTilesPerHead() const { return loadSharedWord(shared + lengthWord) / 2; }
  /// Returns the number of tiles of queries that the block visits for each head of the current tile of keys.
  __device__ int countQueryTiles(const Tile &tile) const {
    return hidesTiles<Problem> ? getQueryTilesPerHead() : tile.queryTilesPerHead;
  }
  __device__ int getLeftAtFirst() const {
    const unsigned word = loadSharedWord(shared + lengthWord);
    return word % 2 != 0 ? 1 : word / 2;
  }
  /// Called by the thread that copies the tile, and visits `queryTilesPerHead` tiles of queries of each head.
  __device__ void writeTile(int number, unsigned parity, const Tile &tile, int queryTilesPerHead) const {
    storeSharedWord(shared + tileWord, 2 * number + parity);
    storeSharedWord(shared + lengthWord, 2 * queryTilesPerHead + tile.isBackwards);
    if constexpr (ScoreOf<Problem>::exists)
      storeSharedWord(shared + firstKeyWord, tile.first);
  }
  /// With a score function: the first key of the block.
  __device__ int getFirstKey() const { return loadSharedWord(shared + firstKeyWord); }
  /// With a score function: the current stage's tile of queries, and its head among those of all batches.
  __device__ VisitedTile getQueryTile() const {
    if constexpr (hidesTiles<Problem>)
      return VisitedTile::load(getQueryTileWord());
    else
      return {static_cast<int>(loadSharedWord(getQueryTileWord())), 1, 1};
  }
  __device__ int getHead() const { return loadSharedWord(getQueryTileWord() + 4); }
  /// Called by the thread that copies the tile, before it announces the copies.
  __device__ void writeQueryTile(VisitedTile tile, int headOfAll) const {
    if constexpr (ScoreOf<Problem>::exists) {
      queryRing.awaitFree();
      if constexpr (hidesTiles<Problem>)
        tile.store(getQueryTileWord());
      else
        storeSharedWord(getQueryTileWord(), tile.number);
      storeSharedWord(getQueryTileWord() + 4, headOfAll);
    }
  }
  /// If data hides tiles: the thread's next tile of queries, numbered by GradientWorkspace::getTile. The thread that
  /// copies leaves it for those that add.
  __device__ int getStep() const { return loadSharedWord(getStepWord()); }
  __device__ void writeStep(int queryTile) {
    storeSharedWord(getStepWord(), queryTile);
    ++step;
  }
  /// Ends the use of the tile for all threads that the caller stands for, if `isElected`.
  __device__ void releaseTile(bool isElected) const {
    if (isElected)
      arrive(shared + freeBarrier);
  }

  // Addresses of the current stages.
  __device__ unsigned getQueries(int stage) const { return shared + queries + stage * Queries::bytes; }
  __device__ unsigned getQueries() const { return getQueries(queryRing.getStage()); }
  __device__ unsigned getGradients() const { return shared + gradients + queryRing.getStage() * Queries::bytes; }
  __device__ unsigned getStatistics() const { return shared + statistics + queryRing.getStage() * statisticsBytes; }
  __device__ unsigned getSlopes() const { return shared + slopes + slopeRing.getStage() * Slopes::bytes; }
  __device__ unsigned getSums() const { return shared + sums + sumRing.getStage() * sumBytes; }
  __device__ unsigned getQueryTileWord() const { return shared + queryTileWords + queryRing.getStage() * 8; }

  __device__ unsigned getStepWord() const { return shared + stepWords + step % stepsAtOnce * 4; }

  const Workspace workspace;
  const unsigned shared;
  Ring<queryStages> queryRing;
  Ring<slopeStages> slopeRing;
  Ring<sumStages> sumRing;
  /// The number of the thread's next tile of queries, if data hides tiles.
  unsigned step = 0;
};

/// Ends the part of a warp in filling a stage, which copies or matmuls read next.
template <int stages>
__device__ inline void finishWriting(Ring<stages> &ring) {
  publishSharedWrites();
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    arrive(ring.getFullBarrier());
  ring.advance();
}
