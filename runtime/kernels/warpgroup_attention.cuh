//===- warpgroup_attention.cuh - Parts of attention by warpgroups -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Blocks stay on their multiprocessors and take one tile after the other. The first warpgroup of a block starts all
// copies. Each other warpgroup computes 64 rows of the tile.

#ifdef __CUDACC__

constexpr int rowsPerWarpgroup = 64;

/// A block's share of `count` tiles, which are sorted by work. The direction alternates from round to round, so that
/// all blocks get about equal work.
template <int count>
class TileQueue {
public:
  /// Writes the number of the next tile to `tile`. Returns false after the last tile.
  __device__ bool next(int &tile) {
    tile = round * gridDim.x + (round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    ++round;
    return tile < count;
  }

private:
  int round = 0;
};

/// The part that a thread has of a warpgroup's rows.
struct WarpgroupLane {
  /// The number of the computing warpgroup.
  int warpgroup;
  /// The thread's first row of the block's tile, and its first column of a result. It also has row + 8.
  int row, column;
  /// True for one thread of the warpgroup.
  bool isElected;

  __device__ explicit WarpgroupLane(int warpgroup)
      : warpgroup(warpgroup), row(warpgroup * rowsPerWarpgroup + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4),
        column(threadIdx.x % 4 * 2), isElected(threadIdx.x % 128 == 0) {}

  /// Waits for all threads of the warpgroup.
  __device__ void synchronise() const { awaitThreads<128>(8 + warpgroup); }
};

/// Lets warpgroups start their matmuls in turn, so that one computes exponentials while others multiply.
template <int warpgroups>
class Turns {
public:
  __device__ explicit Turns(int warpgroup) : warpgroup(warpgroup) {
    if (warpgroups > 1 && warpgroup == warpgroups - 1)
      pass();
  }
  __device__ void await() const {
    if constexpr (warpgroups > 1)
      awaitThreads<256>(1 + warpgroup);
  }
  __device__ void pass() const {
    if constexpr (warpgroups > 1)
      arriveThreads<256>(1 + (warpgroup + 1) % warpgroups);
  }

private:
  const int warpgroup;
};

/// Moves registers from the first warpgroup, which needs `copyRegisters` per thread, to the computing ones. A block
/// starts with 168 per thread if two warpgroups compute, and with 128 if three do.
template <int warpgroups, int copyRegisters>
__device__ inline void moveRegisters(int warpgroup) {
  constexpr int total = warpgroups == 2 ? 3 * 168 : 4 * 128;
  if constexpr (warpgroups > 1) {
    if (warpgroup == 0)
      lowerRegisters<copyRegisters>();
    else
      raiseRegisters<(total - copyRegisters) / warpgroups / 8 * 8>();
  }
}

/// Sets scores of a tile to −∞ whose column is after `lasts`, the last visible columns of the thread's two rows,
/// counted from the thread's first column.
template <int size>
__device__ inline void hideAfter(float (&scores)[size], const int (&lasts)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (8 * (i / 4) + i % 2 > lasts[i / 2 % 2])
      scores[i] = -infinity();
}
/// The same for columns before `firsts`.
template <int size>
__device__ inline void hideBefore(float (&scores)[size], const int (&firsts)[2]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (8 * (i / 4) + i % 2 < firsts[i / 2 % 2])
      scores[i] = -infinity();
}

/// Rounds a result and packs it as a left operand.
template <class Element, int size>
__device__ inline void packLeft(unsigned (&left)[size / 2], const float (&result)[size]) {
#pragma unroll
  for (int i = 0; i < size / 2; ++i)
    left[i] = TensorCore<Element>::pack(result[2 * i], result[2 * i + 1]);
}

template <int size>
__device__ inline void clear(float (&values)[size]) {
#pragma unroll
  for (int i = 0; i < size; ++i)
    values[i] = 0;
}

/// Returns Σ a · b over the elements of two chunks.
template <class Element>
__device__ inline float dotChunks(const Chunk &a, const Chunk &b) {
  using Core = TensorCore<Element>;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum += Core::getFirst(a.words[i]) * Core::getFirst(b.words[i]);
    sum += Core::getSecond(a.words[i]) * Core::getSecond(b.words[i]);
  }
  return sum;
}

__device__ inline float sumOfRow(float part) {
  return reduceWarp<4>(part, [](float a, float b) { return a + b; });
}

/// The range of a query tile's tiles of keys that are interior for all queries of a warpgroup: from `begin` to `end`
/// - 1.
struct InteriorTiles {
  int begin, end;

  /// `first` is the warpgroup's first query, and tiles are counted from key `skippedKeys` on.
  template <class Problem, int keysPerTile>
  __device__ static InteriorTiles find(int first, int skippedKeys) {
    using Score = ScoreOf<Problem>;
    const int last = first + rowsPerWarpgroup - 1;
    // The first key and the end of the keys at interior distances from all queries.
    const int firstKey = last - Score::lastInterior - skippedKeys, endOfKeys = first - Score::firstInterior + 1;
    const int end = (endOfKeys < Problem::keys ? endOfKeys : Problem::keys) - skippedKeys;
    // Functions read tables at existing queries only.
    if (end < 0 || (!Score::interiorIsScore && last >= Problem::queries))
      return {0, 0};
    return {firstKey > 0 ? countTiles(firstKey, keysPerTile) : 0, end / keysPerTile};
  }
};

/// Replaces q · k of a tile by scores. The thread's first row is `query`, and its first column
/// is `key`.
template <class Problem, bool isInterior, int size>
__device__ inline void applyScoreFunction(const ScoreOf<Problem> &function, float (&scores)[size], int query, int key,
                                          int batch, int head) {
  if constexpr (isInterior && ScoreOf<Problem>::interiorIsScore)
    return;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const int row = query + i / 2 % 2 * 8, column = key + 8 * (i / 4) + i % 2;
    if constexpr (isInterior && !ScoreOf<Problem>::interiorIsScore) {
      scores[i] = computeInterior(function, scaleOfDots<Problem> * scores[i], batch, head, row, column);
      continue;
    }
    const bool exists = column < Problem::keys && row < Problem::queries && !(Problem::isCausal && column > row);
    scores[i] = exists ? function.compute(scaleOfDots<Problem> * scores[i], batch, head, row, column) : -infinity();
  }
}

/// A tile of queries of one head, and the number of tiles of keys that some of them see.
template <class Problem, int queriesPerTile, int keysPerTile>
struct QueryTile {
  static constexpr int perHead = countTiles(Problem::queries, queriesPerTile);
  static constexpr int count = Problem::batches * Problem::queryHeads * perHead;
  int first, head, keyHead, batch, keyTiles;
  /// With a score function, the keys before the first tile.
  int skippedKeys;

  /// Tiles are numbered by work, the longest first.
  __device__ explicit QueryTile(int number) {
    const auto tile = HeadTile<perHead, queriesPerTile, Problem::queryHeads, seesMostLast<Problem>()>::fromBlock(
        number, Problem::batches);
    first = tile.first, head = tile.head, batch = tile.batch;
    keyHead = head / (Problem::queryHeads / Problem::keyHeads);
    const int end = first + queriesPerTile;
    if constexpr (ScoreOf<Problem>::exists) {
      const auto visible = KeyTiles::find<Problem>(first, end, keysPerTile);
      keyTiles = visible.end - visible.first;
      skippedKeys = visible.first * keysPerTile;
    } else {
      keyTiles = countTiles(Problem::isCausal && end < Problem::keys ? end : Problem::keys, keysPerTile);
    }
  }

  /// Returns the first key of a tile of keys.
  __device__ int getFirstKey(int keyTile) const {
    if constexpr (ScoreOf<Problem>::exists)
      return skippedKeys + keyTile * keysPerTile;
    else
      return keyTile * keysPerTile;
  }

  /// Returns the number of the first tile of keys that some query of the warpgroup does not see as a whole.
  __device__ int getFirstMasked(int warpgroup) const { return (first + warpgroup * rowsPerWarpgroup) / keysPerTile; }

  /// Computes scores from q · k for the keys of a tile.
  template <bool isInterior, int size>
  __device__ void apply(const ScoreOf<Problem> &function, float (&scores)[size], int keyTile,
                        const WarpgroupLane &lane) const {
    int query = first + lane.row, key = getFirstKey(keyTile) + lane.column;
    // Keeps the compiler from computing all indices before the loop over tiles, which takes registers.
    asm volatile("" : "+r"(query), "+r"(key));
    applyScoreFunction<Problem, isInterior>(function, scores, query, key, batch, head);
  }

  /// Hides the keys of a tile that the thread's queries do not see.
  template <int size>
  __device__ void mask(float (&scores)[size], int keyTile, const WarpgroupLane &lane) const {
    int lasts[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int query = first + lane.row + 8 * row;
      lasts[row] = (Problem::isCausal && query < Problem::keys - 1 ? query : Problem::keys - 1) -
                   keyTile * keysPerTile - lane.column;
      // Keeps the compiler from computing all comparisons before the loop over tiles, which takes registers.
      asm volatile("" : "+r"(lasts[row]));
    }
    hideAfter(scores, lasts);
  }
};

#endif
