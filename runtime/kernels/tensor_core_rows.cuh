//===- tensor_core_rows.cuh - Matmuls by tensor cores -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// The row block of matmuls that a warp computes with tensor cores: `blocks` times 16 rows. Right operands are in
/// shared memory and are the same for all warps. One instruction takes 32 bytes of the reduction axis.
template <class ElementType, int blocks>
struct TensorCoreRowBlockBase {
  using Element = ElementType;
  using Core = TensorCore<Element>;

  /// Rows per warp, rows of which one lane holds elements, and (consecutive) lanes that hold elements of one row.
  static constexpr int perWarp = 16 * blocks, perLane = 2 * blocks, lanesPerRow = 4;
  /// The extent of the reduction axis is a multiple of this.
  static constexpr int depthMultiple = 16;
  /// Bytes of shared memory that a warp needs to use an accumulator of `columns` columns as a left operand.
  template <int columns>
  static constexpr int stagingBytes = 0;

  /// A lane's part of a result of `columns` columns.
  template <int numColumns>
  struct Accumulator {
    static_assert(numColumns % 16 == 0);
    static constexpr int columns = numColumns, valuesPerRow = columns / 4;
    float values[perLane][valuesPerRow];
    /// Return the row, among the warp's rows, and the column of values[i][j].
    __device__ static int getRow(int i) { return i / 2 * 16 + i % 2 * 8 + threadIdx.x % 32 / 4; }
    __device__ static int getColumn(int j) { return j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2; }
  };
  /// A lane's part of a final result.
  template <int columns>
  using Result = Accumulator<columns>;

  /// The warp's rows of a left operand, in a tile in shared memory. If `isKept`, the constructor loads them to
  /// registers.
  template <class Tile, bool isKept>
  class LeftFragment {
  public:
    /// `rows` is the address of the warp's first row.
    __device__ explicit LeftFragment(unsigned rows) : origin(rows, threadIdx.x % 16, threadIdx.x % 32 / 16) {
      if constexpr (isKept)
#pragma unroll
        for (int step = 0; step < Tile::chunks / 2; ++step)
          load(kept[step], step);
    }
    /// Gets chunks 2 · step and 2 · step + 1 of the reduction axis.
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
        loadRounded(fragments[block], origin.get(16 * block, 2 * step));
    }

    typename Tile::ChunkAddress origin;
    unsigned kept[isKept ? Tile::chunks / 2 : 1][blocks][4];
  };

  /// Computes left · rightᵀ.
  template <class Tile, int columns, bool isKept>
  __device__ static void multiplyTransposed(Accumulator<columns> &accumulator, const LeftFragment<Tile, isKept> &left,
                                            unsigned right) {
    clear(accumulator);
    const typename Tile::ChunkAddress origin(right, threadIdx.x % 32 / 16 * 8 + threadIdx.x % 8, threadIdx.x / 8 % 2);
#pragma unroll
    for (int step = 0; step < Tile::chunks / 2; ++step) {
      unsigned fragments[blocks][4];
      left.get(fragments, step);
#pragma unroll
      for (int pair = 0; pair < columns / 16; ++pair) {
        unsigned matrices[4];
        loadRounded(matrices, origin.get(16 * pair, 2 * step));
        multiplyPair(accumulator, fragments, matrices, pair);
      }
    }
  }

  /// Loads the fragments of one instruction, rounded to the type of the tensor cores.
  __device__ static void loadRounded(unsigned (&matrices)[4], unsigned address) {
    loadMatrices(matrices, address);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      matrices[i] = Core::round(matrices[i]);
  }

  template <int columns>
  __device__ static void clear(Accumulator<columns> &accumulator) {
#pragma unroll
    for (int i = 0; i < perLane; ++i)
#pragma unroll
      for (int j = 0; j < Accumulator<columns>::valuesPerRow; ++j)
        accumulator.values[i][j] = 0;
  }

protected:
  /// Accumulates left · right into columns 8 · number, … of the rows of `block`.
  template <int columns>
  __device__ static void multiplyColumns(Accumulator<columns> &sum, const unsigned (&left)[4], unsigned right0,
                                         unsigned right1, int block, int number) {
    float (&upper)[columns / 4] = sum.values[2 * block], (&lower)[columns / 4] = sum.values[2 * block + 1];
    const int j = 2 * number;
    Core::multiply(upper[j], upper[j + 1], lower[j], lower[j + 1], left, right0, right1);
  }

  /// Accumulates the matmuls with two right fragments into columns 16 · pair, ….
  template <int columns>
  __device__ static void multiplyPair(Accumulator<columns> &sum, const unsigned (&left)[blocks][4],
                                      const unsigned (&right)[4], int pair) {
#pragma unroll
    for (int block = 0; block < blocks; ++block)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiplyColumns(sum, left[block], right[2 * half], right[2 * half + 1], block, 2 * pair + half);
  }
};

/// The row block for 16-bit elements.
template <class ElementType, int blocks>
struct TensorCoreRowBlock : TensorCoreRowBlockBase<ElementType, blocks> {
  using Base = TensorCoreRowBlockBase<ElementType, blocks>;
  using Core = typename Base::Core;
  template <int columns>
  using Accumulator = typename Base::template Accumulator<columns>;
  template <int columns>
  using Result = typename Base::template Result<columns>;

  /// Accumulates `left` · `right` for columns `firstColumn`, … of `right`, with `left` rounded to the elements' type.
  template <class Tile, int reductionSize, int columns>
  __device__ static void multiplyAccumulate(Result<columns> &sum, const Accumulator<reductionSize> &left,
                                            unsigned right, int firstColumn, unsigned /*staging*/) {
    const typename Tile::ChunkAddress origin(right, threadIdx.x % 16, threadIdx.x % 32 / 16);
#pragma unroll
    for (int step = 0; step < reductionSize / 16; ++step) {
      // A lane holds the elements of an accumulator that its left fragment of the next matmul needs.
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
        loadMatricesTransposed(matrices, origin.get(16 * step, firstColumn / 8 + 2 * pair));
        Base::multiplyPair(sum, fragments, matrices, pair);
      }
    }
  }

  /// Writes a result to columns `firstColumn`, … of the warp's rows of a tile. `rows` is the address of the first one.
  template <class Tile, int columns>
  __device__ static void write(unsigned rows, const Result<columns> &result, int firstColumn) {
#pragma unroll
    for (int i = 0; i < Base::perLane; ++i)
#pragma unroll
      for (int j = 0; j < Result<columns>::valuesPerRow; j += 2)
        storeSharedWord(rows + Tile::getOffset(result.getRow(i), firstColumn / 8 + j / 2) + threadIdx.x % 4 * 4,
                        Core::pack(result.values[i][j], result.values[i][j + 1]));
  }

  /// Adds each element of a chunk to its own sum.
  __device__ static void addChunk(float (&sums)[8], const Chunk &chunk) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[2 * i] += Core::getFirst(chunk.words[i]);
      sums[2 * i + 1] += Core::getSecond(chunk.words[i]);
    }
  }

  /// Returns Σ a · b over the elements of two chunks.
  __device__ static float dotChunks(const Chunk &a, const Chunk &b) { return ::dotChunks<ElementType>(a, b); }
};
