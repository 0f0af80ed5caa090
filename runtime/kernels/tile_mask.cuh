//===- tile_mask.cuh - The tiles that data hides ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A score function can hide pairs by data: documents, lengths, padding. A function that runs first inspects all tiles
// and writes two bits per tile to the workspace. Blocks of the functions after it read the bits and visit only tiles in
// which a pair may be visible.

/// True if the score function has the member `inspect`, and kernels skip tiles by its result.
template <class Problem, class = void>
inline constexpr bool hidesTiles = false;
template <class Problem>
inline constexpr bool hidesTiles<Problem, decltype(static_cast<void>(&ScoreOf<Problem>::inspect))> = true;

/// The bits of 32 tiles: the members of TileInspection. No tile is seen in which no pair has a visible distance.
/// `before` is the number of seen tiles before these.
struct TileBits {
  unsigned seen, whole, before;
};

/// The bits of all tiles of `rowsOfQueries` queries and `rowsOfKeys` keys, [batches, own tiles, words, parts]. The own
/// tile is the one that a block computes: of keys if `ownsKeys`, else of queries. Warpgroups that compute rows of it of
/// their own have a part each, with bits of its own. Streamed tiles go through the bits of words. After the words of
/// own tile r there is room for two numbers: in `before` its work, and in `seen` the number of the own tile with the
/// r-th most work. After those of the first one, `whole` counts the tiles that blocks took from a SharedTileQueue.
template <class Problem, int rowsOfQueries, int rowsOfKeys, bool ownsKeys, int numParts = 1>
struct TileMask {
  static constexpr int parts = numParts;
  static constexpr int queryTiles = countTiles(Problem::queries, rowsOfQueries);
  static constexpr int keyTiles = countTiles(Problem::keys, rowsOfKeys);
  static constexpr int ownTiles = ownsKeys ? keyTiles : queryTiles, streamedTiles = ownsKeys ? queryTiles : keyTiles;
  static constexpr int words = countTiles(streamedTiles, 32), batches = Problem::batches, rows = batches * ownTiles;
  static constexpr int bitsPerRow = words * parts + 1;
  static constexpr long long bytes = static_cast<long long>(rows) * bitsPerRow * sizeof(TileBits);

  /// Returns the words of an own tile.
  template <class Bits>
  __device__ static Bits *getRow(Bits *bits, int batch, int ownTile) {
    return bits + (static_cast<long long>(batch) * ownTiles + ownTile) * bitsPerRow;
  }
  /// Returns the number of an own tile by its rank, and its work.
  template <class Bits>
  __device__ static auto &getRanked(Bits *bits, int batch, int rank) {
    return getRow(bits, batch, rank)[words * parts].seen;
  }
  /// Returns the counter of a SharedTileQueue, which `resetTaken` sets to 0.
  __device__ static unsigned *getTaken(TileBits *bits) { return &getRow(bits, 0, 0)[words * parts].whole; }
  __device__ static void resetTaken(TileBits *bits, int row) {
    if (row == 0 && threadIdx.x == 0)
      *getTaken(bits) = 0;
  }
  template <class Bits>
  __device__ static auto &getWork(Bits *bits, int batch, int ownTile) {
    return getRow(bits, batch, ownTile)[words * parts].before;
  }
  /// Returns the existing pairs of a part of an own tile and a streamed tile.
  __device__ static PairTile getPairs(int batch, int ownTile, int part, int streamedTile) {
    constexpr int queriesOfPart = rowsOfQueries / (ownsKeys ? 1 : parts);
    constexpr int keysOfPart = rowsOfKeys / (ownsKeys ? parts : 1);
    const int firstQuery = ownsKeys ? streamedTile * rowsOfQueries : ownTile * rowsOfQueries + part * queriesOfPart;
    const int firstKey = ownsKeys ? ownTile * rowsOfKeys + part * keysOfPart : streamedTile * rowsOfKeys;
    const int endQuery = firstQuery + queriesOfPart, endKey = firstKey + keysOfPart;
    return {batch, firstQuery, endQuery < Problem::queries ? endQuery : Problem::queries, firstKey,
            endKey < Problem::keys ? endKey : Problem::keys};
  }
};

/// Inspects the tiles of a word. A block of 32 warps inspects one tile per warp.
template <class Problem, class Mask>
class WordInspector {
  using Score = ScoreOf<Problem>;

public:
  /// Writes the bits of an own tile's word, before which `before` tiles are seen. Returns the number of seen tiles of
  /// the word to the first warp.
  __device__ static unsigned mark(const Score &score, TileBits *bits, int batch, int ownTile, int word,
                                  unsigned before) {
    __shared__ TileInspection inspections[Mask::parts][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = 32 * word + warp;
    for (int part = 0; part < Mask::parts; ++part) {
      TileInspection inspection{false, false};
      if (tile < Mask::streamedTiles)
        inspection = inspect(score, Mask::getPairs(batch, ownTile, part, tile));
      if (lane == 0)
        inspections[part][warp] = inspection;
    }
    __syncthreads();
    unsigned seen = 0;
    if (warp == 0)
      for (int part = 0; part < Mask::parts; ++part) {
        const TileBits ofWord{__ballot_sync(0xffffffffu, inspections[part][lane].isSeen),
                              __ballot_sync(0xffffffffu, inspections[part][lane].isWhole), before};
        seen |= ofWord.seen;
        if (lane == 0)
          Mask::getRow(bits, batch, ownTile)[word * Mask::parts + part] = ofWord;
      }
    __syncthreads();
    return __popc(seen);
  }

private:
  __device__ static TileInspection inspect(const Score &score, const PairTile &pairs) {
    // A part can be past the last row.
    if (pairs.firstQuery < pairs.endQuery && pairs.firstKey < pairs.endKey &&
        VisiblePairs<Problem>::canSee(pairs.firstQuery, pairs.endQuery, pairs.firstKey, pairs.endKey))
      return score.inspect(pairs);
    return {false, false};
  }
};

/// The function that writes masks, one after the other. A block writes one own tile's words.
template <class Problem, class... Masks>
class MarkTiles {
  using Score = ScoreOf<Problem>;

public:
  static constexpr int threads = 1024, blocks = (Masks::rows + ...), sharedBytes = 0;
  static constexpr long long bytes = (Masks::bytes + ...);

  __device__ static void run(const Score &score, TileBits *bits) {
    int row = blockIdx.x;
    (markIfInside<Masks>(score, bits, row), ...);
  }

private:
  template <class Mask>
  __device__ static void markIfInside(const Score &score, TileBits *&bits, int &row) {
    if (row >= 0 && row < Mask::rows) {
      Mask::resetTaken(bits, row);
      unsigned before = 0;
      for (int word = 0; word < Mask::words; ++word)
        before +=
            WordInspector<Problem, Mask>::mark(score, bits, row / Mask::ownTiles, row % Mask::ownTiles, word, before);
    }
    row -= Mask::rows;
    bits += Mask::bytes / sizeof(TileBits);
  }
};

/// The function that writes a mask whose words RankTiles counts. A block writes one word, so that more multiprocessors
/// inspect tiles.
template <class Problem, class Mask>
class MarkWords {
public:
  static constexpr int threads = 1024, blocks = Mask::rows * Mask::words, sharedBytes = 0;
  static constexpr long long bytes = Mask::bytes;

  __device__ static void run(const ScoreOf<Problem> &score, TileBits *bits) {
    const int row = blockIdx.x / Mask::words, word = blockIdx.x % Mask::words;
    Mask::resetTaken(bits, blockIdx.x);
    WordInspector<Problem, Mask>::mark(score, bits, row / Mask::ownTiles, row % Mask::ownTiles, word, 0);
  }
};

/// The function that ranks the own tiles of each batch by their work, after MarkWords, whose words it counts. A block
/// ranks the tiles of a batch. A seen tile that is not whole for a part that sees it counts twice, because its scores
/// are computed pair by pair.
template <class Mask>
class RankTiles {
public:
  static constexpr int threads = 1024, blocks = Mask::batches, sharedBytes = 0;

  __device__ static void run(TileBits *bits) {
    for (int own = threadIdx.x; own < Mask::ownTiles; own += threads) {
      unsigned work = 0, before = 0;
      TileBits *ofWord = Mask::getRow(bits, blockIdx.x, own);
      for (int word = 0; word < Mask::words; ++word, ofWord += Mask::parts) {
        unsigned seen = 0, mixed = 0;
        for (int part = 0; part < Mask::parts; ++part) {
          seen |= ofWord[part].seen;
          mixed |= ofWord[part].seen & ~ofWord[part].whole;
        }
        // SeenTiles reads that of the first part.
        ofWord->before = before;
        before += __popc(seen);
        work += __popc(seen) + __popc(mixed);
      }
      Mask::getWork(bits, blockIdx.x, own) = work;
    }
    __syncthreads();
    for (int own = threadIdx.x; own < Mask::ownTiles; own += threads) {
      const unsigned work = Mask::getWork(bits, blockIdx.x, own);
      int rank = 0;
      for (int other = 0; other < Mask::ownTiles; ++other) {
        const unsigned ofOther = Mask::getWork(bits, blockIdx.x, other);
        rank += ofOther > work || (ofOther == work && other > own);
      }
      Mask::getRanked(bits, blockIdx.x, rank) = own;
    }
  }
};
