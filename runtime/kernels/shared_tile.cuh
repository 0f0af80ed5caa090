//===- shared_tile.cuh - Tiles of matrices in shared memory -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

__device__ constexpr int roundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Returns the bytes of one access to the first `size` bytes of a chunk, whose address is a multiple of `bytes`.
__device__ constexpr int getAccessBytes(int bytes, int size) { return size % bytes == 0 ? bytes : size & -size; }

/// Reads the first `size` bytes of a chunk, whose address is a multiple of `bytes`. The others are zeros.
template <int bytes, int size = 16>
__device__ inline Chunk loadChunk(const void *address) {
  constexpr int perAccess = getAccessBytes(bytes, size);
  Chunk chunk = {};
  if constexpr (perAccess == 16) {
    chunk = *static_cast<const Chunk *>(address);
  } else if constexpr (perAccess >= 4) {
#pragma unroll
    for (int i = 0; i < size / 4; ++i)
      chunk.words[i] = static_cast<const unsigned *>(address)[i];
  } else {
#pragma unroll
    for (int i = 0; i < size / 2; ++i)
      chunk.words[i / 2] |= static_cast<unsigned>(static_cast<const unsigned short *>(address)[i]) << i % 2 * 16;
  }
  return chunk;
}

/// Writes the first `size` bytes of a chunk to an address that is a multiple of `bytes`.
template <int bytes, int size = 16>
__device__ inline void storeChunk(void *address, const Chunk &chunk) {
  constexpr int perAccess = getAccessBytes(bytes, size);
  if constexpr (perAccess == 16) {
    *static_cast<Chunk *>(address) = chunk;
  } else if constexpr (perAccess >= 4) {
#pragma unroll
    for (int i = 0; i < size / 4; ++i)
      static_cast<unsigned *>(address)[i] = chunk.words[i];
  } else {
#pragma unroll
    for (int i = 0; i < size / 2; ++i)
      static_cast<unsigned short *>(address)[i] = static_cast<unsigned short>(chunk.words[i / 2] >> i % 2 * 16);
  }
}

/// A tile in shared memory: rows of `columns` elements, padded with zeros to a multiple of `depthMultiple`. Eight
/// chunks of the same column in consecutive rows lie in different banks: either a row takes an odd number of chunks,
/// or, for tensor cores, the row number permutes the eight chunks of each 128-byte line.
template <class Element, int columns, int depthMultiple>
struct SharedTile {
  static constexpr int depth = roundUp(columns, depthMultiple);
  static constexpr int elementsPerChunk = 16 / sizeof(Element);
  /// Chunks per row that are full of elements, that hold any, and all of them, padding included.
  static constexpr int fullChunks = columns / elementsPerChunk,
                       usedChunks = roundUp(columns, elementsPerChunk) / elementsPerChunk,
                       chunks = depth / elementsPerChunk;
  /// Bytes of elements in chunk `fullChunks`.
  static constexpr int tailBytes = columns % elementsPerChunk * static_cast<int>(sizeof(Element));
  static constexpr bool isPermuted = sizeof(Element) == 2 && chunks % 8 == 0;
  static constexpr int pitch = (isPermuted ? chunks : chunks | 1) * 16;
  static_assert(depth % elementsPerChunk == 0, "a padded row is whole chunks");

  __device__ static int getOffset(int row, int chunk) {
    return row * pitch + (isPermuted ? chunk ^ row % 8 : chunk) * 16;
  }

  /// The address of a chunk, from which those of other chunks are computed with constants.
  class ChunkAddress {
  public:
    /// `chunk` is 0 or 1, and the tile's address a multiple of 128.
    __device__ ChunkAddress(unsigned tile, int row, int chunk) : address(tile + getOffset(row, chunk)) {}
    /// Returns the address `rows` rows below, a multiple of 8, and `chunks` chunks to the right, an even number.
    __device__ unsigned get(int rows, int chunks) const {
      if constexpr (isPermuted)
        return (address ^ chunks % 8 * 16) + chunks / 8 * 128 + rows * pitch;
      else
        return address + chunks * 16 + rows * pitch;
    }

  private:
    unsigned address;
  };

  /// Starts copies of `rows` rows by all threads of the block. Rows from `validRows` on become zeros. Does not commit
  /// the group.
  template <class Layout, int threads, int rows>
  __device__ static void load(unsigned tile, const Element *from, int validRows) {
    // A thread copies the same chunks of several rows.
    constexpr int rowsPerPass = threads < chunks ? 1 : threads / chunks;
    const int first = threadIdx.x / chunks;
    if (threads > chunks && threads % chunks != 0 && first >= rowsPerPass)
      return;
#pragma unroll
    for (int chunk = threadIdx.x % chunks; chunk < chunks; chunk += threads) {
      const Element *source = from + first * Layout::stride + chunk * elementsPerChunk;
#pragma unroll
      for (int pass = 0; pass < (rows + rowsPerPass - 1) / rowsPerPass; ++pass) {
        const int row = first + pass * rowsPerPass;
        if (rows % rowsPerPass != 0 && row >= rows)
          break;
        copyChunk<Layout::bytes>(tile + getOffset(row, chunk), source + pass * rowsPerPass * Layout::stride, chunk,
                                 row < validRows);
      }
      if (threads >= chunks)
        break;
    }
  }

  /// Stores `written` columns from `firstColumn` on of `rows` rows, by all threads of a warp. Skips rows from
  /// `validRows` on.
  template <class Layout, int rows, int written>
  __device__ static void store(Element *to, unsigned tile, int validRows, int firstColumn = 0) {
    constexpr int valuesPerRow = written / elementsPerChunk;
    for (int i = threadIdx.x % 32; i < rows * valuesPerRow; i += 32) {
      const int row = i / valuesPerRow, chunk = firstColumn / elementsPerChunk + i % valuesPerRow;
      if (row >= validRows || chunk >= usedChunks)
        continue;
      Element *target = to + row * Layout::stride + chunk * elementsPerChunk;
      const Chunk elements = loadSharedChunk(tile + getOffset(row, chunk));
      if (hasTail(chunk))
        storeChunk<Layout::bytes, tailBytes>(target, elements);
      else
        storeChunk<Layout::bytes>(target, elements);
    }
  }

  /// Reads a chunk of a row in global memory, one of `usedChunks`. Elements past the last column are zeros.
  template <class Layout>
  __device__ static Chunk loadGlobal(const Element *row, int chunk) {
    const Element *from = row + chunk * elementsPerChunk;
    return hasTail(chunk) ? loadChunk<Layout::bytes, tailBytes>(from) : loadChunk<Layout::bytes>(from);
  }

private:
  /// Returns true if some elements of the chunk lie past the last column, and others do not.
  __device__ static bool hasTail(int chunk) { return tailBytes != 0 && chunk == fullChunks; }

  /// Starts a copy of a chunk. Elements past the last column, and all elements if `isValid` is false, become zeros.
  template <int bytes>
  __device__ static void copyChunk(unsigned to, const Element *from, int chunk, bool isValid) {
    if (hasTail(chunk))
      copyBytes<bytes, tailBytes>(to, from, isValid);
    else
      copyBytes<bytes, 16>(to, from, isValid && chunk < fullChunks);
  }

  /// Starts a copy of the first `size` bytes of a chunk. The others become zeros.
  template <int bytes, int size>
  __device__ static void copyBytes(unsigned to, const Element *from, bool isValid) {
    constexpr int perCopy = getAccessBytes(bytes, size);
    if constexpr (perCopy >= 4) {
#pragma unroll
      for (int i = 0; i < 16; i += perCopy)
        copyAsync<perCopy>(to + i, reinterpret_cast<const unsigned char *>(from) + i, isValid && i < size);
    } else {
      // Asynchronous copies have at least 4 bytes.
#pragma unroll
      for (int i = 0; i < 8; ++i)
        storeSharedHalfWord(to + 2 * i,
                            isValid && 2 * i < size ? reinterpret_cast<const unsigned short *>(from)[i] : 0);
    }
  }
};
