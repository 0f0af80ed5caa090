//===- visited_tiles.cuh - The tiles that a block visits --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The tiles that a block goes through: all of them, or those that the bits of a TileMask show to be seen. One thread
// reads the bits, copies the tiles, and tells the other threads in shared memory which ones it copied.

/// A streamed tile that a block visits. The thread that copies the tile leaves it in shared memory, as one word for
/// each part of the own tile.
struct VisitedTile {
  int number;
  /// A bit for each part: 1 if the part may see something, and if the tile is interior at interior distances.
  unsigned seen, whole;

  __device__ bool isSeen() const { return seen % 2 != 0; }
  __device__ bool isWhole() const { return whole % 2 != 0; }
  /// True if data may hide some of the pairs.
  __device__ bool isMixed() const { return isSeen() && !isWhole(); }

  /// Loads the word of a part, which is then the only one.
  __device__ static VisitedTile load(unsigned address) {
    const unsigned word = loadSharedWord(address);
    return {static_cast<int>(word / 4), word / 2 % 2, word % 2};
  }
  template <int parts = 1>
  __device__ void store(unsigned address) const {
#pragma unroll
    for (int part = 0; part < parts; ++part)
      storeSharedWord(address + 4 * part, 4u * number + 2 * (seen >> part & 1) + (whole >> part & 1));
  }
};

/// A tile of queries that a block took from a SharedTileQueue, for the threads that did not take it.
struct ChosenQueries {
  static constexpr int bytes = 12;
  /// The number of the tile for QueryTile, its place in its head, and how many tiles of keys are visited for it.
  int number, place, keyTiles;

  __device__ static ChosenQueries load(unsigned address) {
    return {static_cast<int>(loadSharedWord(address)), static_cast<int>(loadSharedWord(address + 4)),
            static_cast<int>(loadSharedWord(address + 8))};
  }
  __device__ void store(unsigned address) const {
    storeSharedWord(address, number);
    storeSharedWord(address + 4, place);
    storeSharedWord(address + 8, keyTiles);
  }
};

/// The seen tiles of an own tile with `parts`, of `tiles` streamed ones.
template <int tiles, int parts = 1>
class SeenTiles {
  static constexpr int words = countTiles(tiles, 32);

public:
  /// `row` contains the words of the own tile. Tiles are taken from the last one on if `isDescending`.
  __device__ SeenTiles(const TileBits *row, bool isDescending)
      : row(row), isDescending(isDescending), place(isDescending ? tiles - 1 : 0) {}

  __device__ int count() const { return row[(words - 1) * parts].before + __popc(getSeen(words - 1)); }
  /// Returns the number of seen tiles before a tile.
  __device__ int countBefore(int tile) const {
    return row[tile / 32 * parts].before + __popc(getSeen(tile / 32) & ~(~0u << tile % 32));
  }

  /// Takes the next seen tile. Returns false after the last one.
  __device__ bool take(VisitedTile &tile) {
#pragma unroll 1
    while (place >= 0 && place < tiles) {
      const int word = place / 32;
      const unsigned seen = getSeen(word) & (isDescending ? ~0u >> (31 - place % 32) : ~0u << place % 32);
      if (seen != 0) {
        const int bit = isDescending ? 31 - __clz(seen) : __ffs(seen) - 1;
        tile = {32 * word + bit, 0, 0};
#pragma unroll
        for (int part = 0; part < parts; ++part) {
          tile.seen |= (row[word * parts + part].seen >> bit & 1) << part;
          tile.whole |= (row[word * parts + part].whole >> bit & 1) << part;
        }
        place = tile.number + (isDescending ? -1 : 1);
        return true;
      }
      place = isDescending ? 32 * word - 1 : 32 * word + 32;
    }
    return false;
  }

private:
  /// Returns the tiles of a word that some part sees.
  __device__ unsigned getSeen(int word) const {
    unsigned seen = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part)
      seen |= row[word * parts + part].seen;
    return seen;
  }

  const TileBits *row;
  bool isDescending;
  int place;
};

/// The tiles of keys that a block visits for `Tile`, a QueryTile, from the last to the first: all of the tile's, unless
/// data hides some. Numbers count from the tile's skippedKeys. If data hides tiles, there are bits for `parts` of the
/// queries.
template <class Problem, class Tile, int queriesPerTile, int parts = 1, bool skipsHidden = hidesTiles<Problem>>
class VisitedKeyTiles {
public:
  __device__ VisitedKeyTiles(const TileBits *, const Tile &tile) : tile(tile) {}
  __device__ int count() const { return tile.keyTiles; }
  /// Returns the next tile, after which `left` are left.
  __device__ VisitedTile next(int left) { return {left, ~0u, 0}; }
  /// Returns the number of keys of all tiles. Called before `next`.
  __device__ int countKeys() { return Problem::keys - tile.getFirstKey(0); }

private:
  const Tile &tile;
};

/// There is at least one tile, because the block has results also if its queries see nothing.
template <class Problem, class Tile, int queriesPerTile, int parts>
class VisitedKeyTiles<Problem, Tile, queriesPerTile, parts, true> {
public:
  using Mask = TileMask<Problem, queriesPerTile, Tile::keysPerTile, /*ownsKeys=*/false, parts>;

  __device__ VisitedKeyTiles(const TileBits *bits, const Tile &tile)
      : tile(tile), skipped(tile.skippedKeys / Tile::keysPerTile),
        seen(Mask::getRow(bits, tile.batch, tile.first / queriesPerTile), /*isDescending=*/true) {}

  __device__ int count() const {
    const int number = seen.count();
    return number > 0 ? number : 1;
  }
  __device__ VisitedTile next(int) {
    VisitedTile visited{skipped, ~0u, 0};
    seen.take(visited);
    visited.number -= skipped;
    return visited;
  }
  /// All tiles but the last one of the head have all of their keys.
  __device__ int countKeys() {
    const int before = count() - 1;
    return before * Tile::keysPerTile + Problem::keys - tile.getFirstKey(next(before).number);
  }

private:
  const Tile &tile;
  int skipped;
  SeenTiles<Mask::streamedTiles, parts> seen;
};

/// The tiles of queries of one head that a block visits for `Tile`, a KeyGradientTile, from the first to the last: all
/// of the tile's, unless data hides some.
template <class Problem, class Tile, int keysPerTile, int queriesPerTile, bool skipsHidden = hidesTiles<Problem>>
class VisitedQueryTiles {
public:
  __device__ VisitedQueryTiles(const TileBits *, const Tile &tile)
      : next(tile.skipped), end(tile.skipped + tile.perHead) {}
  __device__ int count() const { return end - next; }
  /// Takes the next one. Returns false after the last one.
  __device__ bool take(VisitedTile &tile) {
    tile = {next, 1, 1};
    return next++ < end;
  }

private:
  int next, end;
};

template <class Problem, class Tile, int keysPerTile, int queriesPerTile>
class VisitedQueryTiles<Problem, Tile, keysPerTile, queriesPerTile, true> {
public:
  using Mask = TileMask<Problem, queriesPerTile, keysPerTile, /*ownsKeys=*/true>;

  __device__ VisitedQueryTiles(const TileBits *bits, const Tile &tile)
      : seen(Mask::getRow(bits, tile.batch, tile.first / keysPerTile), /*isDescending=*/false) {}
  __device__ int count() const { return seen.count(); }
  __device__ bool take(VisitedTile &tile) { return seen.take(tile); }

private:
  SeenTiles<Mask::streamedTiles> seen;
};
