//===- tensor_core_rows.cuh - Products by tensor cores ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Rows of products of matrices that a warp computes with tensor cores: `blocks` times 16. What multiplies them lies in
/// shared memory and is the same for all warps. One instruction takes 32 bytes of the summed axis.
template <class ElementType, int blocks>
struct TensorCoreProducts {
  using Element = ElementType;
  using Core = TensorCore<Element>;

  /// Rows of a warp, those that a lane has elements of, and the lanes that have elements of a row: neighbours.
  static constexpr int perWarp = 16 * blocks, perLane = 2 * blocks, lanesPerRow = 4;
  /// What the summed axis is a multiple of.
  static constexpr int granule = 16;
  /// Bytes of shared memory that a warp needs to multiply a product of `columns` columns by something.
  template <int columns>
  static constexpr int scratchBytes = 0;

  /// A lane's part of a product of `columns` columns.
  template <int numColumns>
  struct Product {
    static_assert(numColumns % 16 == 0);
    static constexpr int columns = numColumns, perRow = columns / 4;
    float values[perLane][perRow];
    /// The place of values[i][j] among the warp's rows and among the columns.
    __device__ static int getRow(int i) { return i / 2 * 16 + i % 2 * 8 + threadIdx.x % 32 / 4; }
    __device__ static int getColumn(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  };
  /// The same of a product that is an end result.
  template <int columns>
  using Result = Product<columns>;

  /// The warp's rows of a left matrix, in a tile of shared memory, or kept in registers from there on.
  template <class Tile, bool isKept>
  class Left {
  public:
    /// `rows` is the address of the warp's first.
    __device__ explicit Left(unsigned rows) : place(rows, threadIdx.x % 16, threadIdx.x % 32 / 16) {
      if constexpr (isKept)
#pragma unroll
        for (int step = 0; step < Tile::chunks / 2; ++step)
          load(kept[step], step);
    }
    /// Chunks 2 step and 2 step + 1 of the summed axis.
    __device__ void get(unsigned (&fragments)[blocks][4], int step) const {
      if constexpr (isKept) {
#pragma unroll
        for (int block = 0; block < blocks; ++block)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            fragments[block][i] = kept[step][block][i];
      } else {
        load(fragments, step);
      }
    }

  private:
    __device__ void load(unsigned (&fragments)[blocks][4], int step) const {
#pragma unroll
      for (int block = 0; block < blocks; ++block)
        loadRounded(fragments[block], place.get(16 * block, 2 * step));
    }

    typename Tile::Place place;
    unsigned kept[isKept ? Tile::chunks / 2 : 1][blocks][4];
  };

  /// The products of the left rows and the rows of `right`: left · rightᵀ.
  template <class Tile, int columns, bool isKept>
  __device__ static void multiplyByRows(Product<columns> &product, const Left<Tile, isKept> &left, unsigned right) {
    clear(product);
    const typename Tile::Place place(right, threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8, threadIdx.x / 8 % 2);
#pragma unroll
    for (int step = 0; step < Tile::chunks / 2; ++step) {
      unsigned fragments[blocks][4];
      left.get(fragments, step);
#pragma unroll
      for (int pair = 0; pair < columns / 16; ++pair) {
        unsigned matrices[4];
        loadRounded(matrices, place.get(16 * pair, 2 * step));
        multiplyPair(product, fragments, matrices, pair);
      }
    }
  }

  /// Loads what an instruction takes as it is rounded to the cores' type.
  __device__ static void loadRounded(unsigned (&matrices)[4], unsigned address) {
    loadMatrices(matrices, address);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      matrices[i] = Core::round(matrices[i]);
  }

  template <int columns>
  __device__ static void clear(Product<columns> &product) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
#pragma unroll
      for (int j = 0; j < Product<columns>::perRow; ++j)
        product.values[i][j] = 0;
  }

protected:
  /// Adds to columns 8 number, … of a block's rows the product of two matrices.
  template <int columns>
  __device__ static void multiplyColumns(Product<columns> &sum, const unsigned (&left)[4], unsigned right0,
                                         unsigned right1, int block, int number) {
    float (&upper)[columns / 4] = sum.values[2 * block], (&lower)[columns / 4] = sum.values[2 * block + 1];
    const int j = 2 * number;
    Core::multiply(upper[j], upper[j + 1], lower[j], lower[j + 1], left, right0, right1);
  }

  /// Adds to columns 16 pair, … the product with two right matrices.
  template <int columns>
  __device__ static void multiplyPair(Product<columns> &sum, const unsigned (&left)[blocks][4],
                                      const unsigned (&right)[4], int pair) {
#pragma unroll
    for (int block = 0; block < blocks; ++block)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiplyColumns(sum, left[block], right[2 * half], right[2 * half + 1], block, 2 * pair + half);
  }
};

/// The same of 16-bit elements.
template <class ElementType, int blocks>
struct TensorCoreRows : TensorCoreProducts<ElementType, blocks> {
  using Products = TensorCoreProducts<ElementType, blocks>;
  using Core = typename Products::Core;
  template <int columns>
  using Product = typename Products::template Product<columns>;
  template <int columns>
  using Result = typename Products::template Result<columns>;

  /// Adds `left` · `right`, of columns `firstColumn`, …, with `left` rounded to the elements' type.
  template <class Tile, int summed, int columns>
  __device__ static void addProduct(Result<columns> &sum, const Product<summed> &left, unsigned right, int firstColumn,
                                    unsigned /*scratch*/) {
    const typename Tile::Place place(right, threadIdx.x % 16, threadIdx.x % 32 / 16);
#pragma unroll
    for (int step = 0; step < summed / 16; ++step) {
      // Where a lane has a product is where the left of another has to be.
      unsigned fragments[blocks][4];
#pragma unroll
      for (int block = 0; block < blocks; ++block)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto &row = left.values[2 * block + i % 2];
          fragments[block][i] = Core::pack(row[4 * step + i / 2 * 2], row[4 * step + i / 2 * 2 + 1]);
        }
#pragma unroll
      for (int pair = 0; pair < columns / 16; ++pair) {
        unsigned matrices[4];
        loadMatricesTransposed(matrices, place.get(16 * step, firstColumn / 8 + 2 * pair));
        Products::multiplyPair(sum, fragments, matrices, pair);
      }
    }
  }

  /// Writes to columns `firstColumn`, … of the warp's rows of a tile, whose first of them is at `rows`.
  template <class Tile, int columns>
  __device__ static void write(unsigned rows, const Result<columns> &result, int firstColumn) {
#pragma unroll
    for (int i = 0; i < Products::perLane; ++i)
#pragma unroll
      for (int j = 0; j < Result<columns>::perRow; j += 2)
        storeSharedWord(rows + Tile::getOffset(result.getRow(i), firstColumn / 8 + j / 2) + threadIdx.x % 4 * 4,
                        Core::pack(result.values[i][j], result.values[i][j + 1]));
  }

  /// Adds elements, each to its own sum.
  __device__ static void addChunk(float (&sums)[8], const Chunk &chunk) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[2 * i] += Core::getFirst(chunk.words[i]);
      sums[2 * i + 1] += Core::getSecond(chunk.words[i]);
    }
  }

  /// The sum of the products of elements.
  __device__ static float multiplyChunks(const Chunk &a, const Chunk &b) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum += Core::getFirst(a.words[i]) * Core::getFirst(b.words[i]);
      sum += Core::getSecond(a.words[i]) * Core::getSecond(b.words[i]);
    }
    return sum;
  }
};
