//===- warpgroup_bias_steps.cuh - Linear biases by a matmul -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Adds step · n to column n of a tile of scores, by one more matmul along 16 elements of the reduction axis. The step
/// is the sum of three numbers in bf16. Each of them times n < 256 is exact. All rows of the left operand are these
/// three numbers and zeros. Row n of the right operand, in shared memory, is n, n, n and zeros.
template <class Wgmma, int columns>
class BiasStepMatmul {
  using Core = TensorCore<typename Wgmma::Element>;
  static_assert(columns <= 256);
  // Eight rows of eight elements are 128 bytes, without a swizzle.
  static constexpr int rowBytes = 16, groupBytes = 8 * rowBytes;

public:
  /// The right operand: elements 0 to 7 of each row. Elements 8 to 15 of the left operand are zeros, so that those of
  /// the right operand can be the same again.
  static constexpr int bytes = columns * rowBytes;

  /// Writes the right operand to `to`, a multiple of 16. All threads of a block call this, at least `columns`, and
  /// synchronise afterwards.
  __device__ static void writeColumns(unsigned to) {
    const int column = threadIdx.x;
    if (column < columns) {
      const auto number = static_cast<float>(column);
      storeSharedChunk(to + column * rowBytes, Chunk{{Core::pack(number, number), Core::pack(number, 0), 0, 0}});
      publishSharedWrites();
    }
  }

  __device__ void setStep(float step, const WarpgroupLane &lane) {
    const float high = round(step), middle = round(step - high), low = step - high - middle;
    words = lane.column == 0 ? Core::pack(high, middle) : lane.column == 2 ? Core::pack(low, 0) : 0;
  }
  /// Starts scores = step · n. `from` is the address of the right operand.
  template <int size>
  __device__ void multiply(float (&scores)[size], unsigned from) const {
    const unsigned long long matrix = (from & 0x3ffff) >> 4 | static_cast<unsigned long long>(groupBytes >> 4) << 32;
    const unsigned left[4] = {words, words, 0, 0};
    Wgmma::template Matmul<columns>::template run<0>(scores, left, matrix, 0);
  }

private:
  __device__ static float round(float number) { return Core::getFirst(Core::pack(number, 0)); }

  /// The thread's elements of its two rows.
  unsigned words = 0;
};
