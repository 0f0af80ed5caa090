//===- slab_tile.cuh - Rows of heads in slabs of shared memory --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Returns the first address of the block's dynamic shared memory at which a slab can begin, a multiple of 1024.
__device__ inline unsigned getSlabMemory() { return (getSharedMemory() + 1023) & ~1023u; }
/// The bytes that may lie before this address, because the block's memory begins at a multiple of 128.
constexpr int slabSlack = 1024 - static_cast<int>(sizeof(BankLine));

/// A tile of `numRows` rows of one head, in slabs of 64 columns. A row of a slab is 128 bytes; chunk c of row r is at
/// position c ^ (r % 8), as copies with a swizzle of 128 bytes write it. Columns from headDim on are zeros. Tiles are
/// aligned to 1024 bytes, so `numRows` is a multiple of 8.
///
/// `makesUniform` is true where the compiler may not see that all threads multiply the same matrices. Otherwise each
/// thread would compute the description of a matrix, and move it to registers of the warp.
template <class Wgmma, int headDim, int numRows, bool makesUniform = false>
struct SlabTile {
  using Element = typename Wgmma::Element;
  static constexpr int rows = numRows, columns = (headDim + 15) / 16 * 16;
  static constexpr int slabColumns = 64, slabs = (headDim + slabColumns - 1) / slabColumns;
  static constexpr int slabBytes = rows * 128, bytes = slabs * slabBytes;
  static_assert(rows % 8 == 0);

  /// Copies positions `first`, … of a head. The boxes of `map` have 64 columns and `rows` rows.
  __device__ static void load(unsigned to, const TensorMap &map, unsigned barrier, int first, int head, int batch) {
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab)
      loadBox(to + slab * slabBytes, map, barrier, slab * slabColumns, first, head, batch);
  }

  /// Starts to store 64 rows, which begin at `from`, to positions `first`, … of a head. The boxes of `map` have 64
  /// columns and 64 rows.
  __device__ static void store(const TensorMap &map, unsigned from, int first, int head, int batch) {
#pragma unroll
    for (int slab = 0; slab < slabs; ++slab)
      storeBox(map, from + slab * slabBytes, slab * slabColumns, first, head, batch);
    commitStores();
  }

  /// Returns the address of a chunk of 8 elements.
  __device__ static unsigned getChunk(unsigned tile, int row, int chunk) {
    return tile + chunk / 8 * slabBytes + row * 128 + ((chunk % 8 ^ row % 8) << 4);
  }

  /// Writes the warpgroup's result, each value times the factor of its row, to 64 rows that begin at `rows`.
  template <int size>
  __device__ static void write(unsigned rows, const float (&result)[size], const float (&factors)[2]) {
    using Core = TensorCore<Element>;
    const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int step = 0; step < columns / 16; ++step) {
      unsigned matrices[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        matrices[i] =
            Core::pack(result[8 * step + 2 * i] * factors[i % 2], result[8 * step + 2 * i + 1] * factors[i % 2]);
      storeMatrices(getChunk(rows, row, 2 * step + lane / 16), matrices);
    }
  }

  /// Writes the warpgroup's part of a left operand of one slab, as packLeft returns it, to 64 rows that begin at
  /// `rows`.
  template <int size>
  __device__ static void writeLeft(unsigned rows, const unsigned (&left)[size]) {
    static_assert(slabs == 1 && size == columns / 4);
    const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
    // The chunks of a row differ in bits of the address, so that one register has the parts of all. The statement keeps
    // the compiler from computing all of them before a loop.
    unsigned first = getChunk(0, row, lane / 16);
    asm volatile("" : "+r"(first));
#pragma unroll
    for (int step = 0; step < columns / 16; ++step) {
      const unsigned matrices[4] = {left[4 * step], left[4 * step + 1], left[4 * step + 2], left[4 * step + 3]};
      storeMatrices(rows + (first ^ step << 5), matrices);
    }
  }

  /// Starts result = left · tileᵀ, or result += left · tileᵀ if `adds` is not 0, where left is 64 rows of a tile of
  /// `LeftTile`.
  template <class LeftTile, int size>
  __device__ static void multiplyTransposed(float (&result)[size], unsigned left, unsigned tile, int adds = 0) {
    const unsigned long long leftMatrix = describe(left), rightMatrix = describe(tile);
#pragma unroll
    for (int step = 0; step < columns / 16; ++step)
      Wgmma::template Matmul<rows>::template run<0>(
          result, leftMatrix + (step / 4 * LeftTile::slabBytes + step % 4 * 32) / 16,
          rightMatrix + (step / 4 * slabBytes + step % 4 * 32) / 16, step != 0 || adds);
    commitMatmuls();
  }

  /// Starts result += left · tile, or result = left · tile if `adds` is 0.
  template <int resultSize, int leftSize>
  __device__ static void multiply(float (&result)[resultSize], const unsigned (&left)[leftSize], unsigned tile,
                                  int adds = 1) {
    const unsigned long long matrix = describe(tile, slabBytes);
#pragma unroll
    for (int step = 0; step < rows / 16; ++step)
      Wgmma::template Matmul<columns>::template run<1>(result, left + 4 * step, matrix + step * 2048 / 16,
                                                       step != 0 || adds);
    commitMatmuls();
  }

  /// Starts result = leftᵀ · right, or result += leftᵀ · right if `adds` is not 0. left is a slab of a tile of
  /// `LeftTile`. right begins with a slab of this tile and has as many columns as the result. Both have as many rows.
  template <class LeftTile, int size>
  __device__ static void multiplyLeftTransposed(float (&result)[size], unsigned left, unsigned right, int adds = 0) {
    static_assert(LeftTile::rows == rows && size * 2 <= slabs * slabColumns);
    const unsigned long long leftMatrix = describe(left), rightMatrix = describe(right, slabBytes);
#pragma unroll
    for (int step = 0; step < rows / 16; ++step)
      Wgmma::template Matmul<size * 2>::runLeftTransposed(result, leftMatrix + step * 2048 / 16,
                                                          rightMatrix + step * 2048 / 16, step != 0 || adds);
    commitMatmuls();
  }

private:
  /// Returns the description of a matrix for the instruction: the address; the distance of slabs, which only matrices
  /// use whose rows are along the reduction axis; 1024 bytes from eight rows to the next; a swizzle of 128 bytes.
  __device__ static unsigned long long describe(unsigned address, int slabDistance = 16) {
    unsigned low = (address & 0x3ffff) >> 4 | static_cast<unsigned>(slabDistance >> 4) << 16;
    if constexpr (makesUniform)
      low = makeUniform(low);
    return low | 64ull << 32 | 1ull << 62;
  }
};
