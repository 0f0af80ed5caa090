//===- mma.cuh - Tensor cores, a warp at a time -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// As in async_copy.cuh, what compiles the text for something else than a GPU brings functions of these names.
#ifdef __CUDACC__

/// 2^x with a relative error of 2^-22; no subnormal results.
__device__ inline float exp2Approximate(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
  return result;
}

/// Four matrices of 8 rows of 16 bytes. Lane 8m + r has the address of row r of matrix m; of each matrix, lane l gets
/// word l % 4 of row l / 4.
__device__ inline void loadMatrices(unsigned (&matrices)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}
/// The same of 8 x 8 half words, transposed: lane l gets column l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1.
__device__ inline void loadMatricesTransposed(unsigned (&matrices)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}

/// Adds the product of two matrices of 16-bit numbers; PTX calls their type `type`.
#define MULTIPLY_16_BITS(type)                                                                                         \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "     \
      "{%0, %1, %2, %3};\n"                                                                                            \
      : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)                                                                 \
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1))

#endif

/// Products of matrices. With g = lane / 4 and t = lane % 4, of 16-bit numbers a lane has
///   of the left, 16 x 16:   row g, columns 2t and 2t + 1; row g + 8, the same; row g, columns 2t + 8 and 2t + 9; row
///                           g + 8, the same;
///   of the right, 16 x 8:   rows 2t and 2t + 1 of column g; rows 2t + 8 and 2t + 9 of column g;
/// of tf32
///   of the left, 16 x 8:    row g, column t; row g + 8, the same; row g, column t + 4; row g + 8, the same;
///   of the right, 8 x 8:    row t of column g; row t + 4 of column g;
/// and of each
///   of the product, 16 x 8: row g, columns 2t and 2t + 1; row g + 8, the same.
template <class Element>
struct TensorCore;
