//===- mma.cuh - Warp-level matmul instructions -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// As in async_copy.cuh, a compilation for another device than a GPU must define functions of these names first.
#ifdef __CUDACC__

/// Returns 2^x with a relative error of at most 2^-22, and zero instead of subnormal results.
__device__ inline float exp2Approximate(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
  return result;
}

/// Loads four matrices of 8 rows of 16 bytes. Lane 8m + r passes the address of row r of matrix m. Lane l receives word
/// l % 4 of row l / 4 of each matrix.
__device__ inline void loadMatrices(unsigned (&matrices)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}
/// Loads four matrices of 8 x 8 half words, transposed: lane l receives column l / 4 of rows 2 (l % 4) and
/// 2 (l % 4) + 1.
__device__ inline void loadMatricesTransposed(unsigned (&matrices)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}

/// Accumulates a matmul of 16-bit matrices. `type` is the name of their element type in PTX.
#define MULTIPLY_16_BITS(type)                                                                                         \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "     \
      "{%0, %1, %2, %3};\n"                                                                                            \
      : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)                                                                 \
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1))

#endif

/// The `mma` instruction for an element type. With g = lane / 4 and t = lane % 4, a lane's fragments are
///   for 16-bit elements
///     left, 16 x 16:        row g, columns 2t and 2t + 1; row g + 8, the same columns; row g, columns 2t + 8 and
///                           2t + 9; row g + 8, the same columns;
///     right, 16 x 8:        rows 2t and 2t + 1 of column g; rows 2t + 8 and 2t + 9 of column g;
///   for tf32
///     left, 16 x 8:         row g, column t; row g + 8, column t; row g, column t + 4; row g + 8, column t + 4;
///     right, 8 x 8:         row t of column g; row t + 4 of column g;
///   for both
///     accumulator, 16 x 8:  row g, columns 2t and 2t + 1; row g + 8, the same columns.
template <class Element>
struct TensorCore;

/// Returns Σ a · b over the 16-bit elements of two chunks.
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
