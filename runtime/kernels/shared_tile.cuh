//===- shared_tile.cuh - Tiles of matrices in shared memory -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

__device__ constexpr int roundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Reads 16 bytes, `bytes` at a time.
template <int bytes>
__device__ inline Chunk loadChunk(const void *address) {
  Chunk chunk;
  if constexpr (bytes == 16) {
    chunk = *static_cast<const Chunk *>(address);
  } else if constexpr (bytes >= 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      chunk.words[i] = static_cast<const unsigned *>(address)[i];
  } else {
    const auto *halves = static_cast<const unsigned short *>(address);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      chunk.words[i] = halves[2 * i] | static_cast<unsigned>(halves[2 * i + 1]) << 16;
  }
  return chunk;
}

/// Writes 16 bytes, `bytes` at a time.
template <int bytes>
__device__ inline void storeChunk(void *address, const Chunk &chunk) {
  if constexpr (bytes == 16) {
    *static_cast<Chunk *>(address) = chunk;
  } else if constexpr (bytes >= 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      static_cast<unsigned *>(address)[i] = chunk.words[i];
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
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
  /// Chunks per row that hold elements, and all chunks per row, padding included.
  static constexpr int fullChunks = columns / elementsPerChunk, chunks = depth / elementsPerChunk;
  static constexpr bool isPermuted = sizeof(Element) == 2 && chunks % 8 == 0;
  static constexpr int pitch = (isPermuted ? chunks : chunks | 1) * 16;
  static_assert(columns % elementsPerChunk == 0 && depth % elementsPerChunk == 0, "a row is whole chunks");

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
        copyChunk<Layout::bytes>(tile + getOffset(row, chunk), source + pass * rowsPerPass * Layout::stride,
                                 chunk < fullChunks && row < validRows);
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
      if (row < validRows && chunk < fullChunks)
        storeChunk<Layout::bytes>(to + row * Layout::stride + chunk * elementsPerChunk,
                                  loadSharedChunk(tile + getOffset(row, chunk)));
    }
  }

private:
  template <int bytes>
  __device__ static void copyChunk(unsigned to, const Element *from, bool isValid) {
    if constexpr (bytes >= 4) {
#pragma unroll
      for (int i = 0; i < 16 / bytes; ++i)
        copyAsync<bytes>(to + i * bytes, reinterpret_cast<const unsigned char *>(from) + i * bytes, isValid);
    } else {
      // Asynchronous copies have at least 4 bytes.
#pragma unroll
      for (int i = 0; i < 8; ++i)
        storeSharedHalfWord(to + 2 * i, isValid ? reinterpret_cast<const unsigned short *>(from)[i] : 0);
    }
  }
};
