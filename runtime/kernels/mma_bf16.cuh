//===- mma_bf16.cuh - bfloat16 on tensor cores ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__

template <>
struct TensorCore<__nv_bfloat16> {
  /// Accumulates a matmul: sum += left · right.
  __device__ static void multiply(float &sum0, float &sum1, float &sum2, float &sum3, const unsigned (&left)[4],
                                  unsigned right0, unsigned right1) {
    MULTIPLY_16_BITS("bf16");
  }
  /// Returns `pair` unchanged: the elements already have the type of the tensor cores.
  __device__ static unsigned round(unsigned pair) { return pair; }
  /// Packs two consecutive elements, each rounded to the nearest bfloat16, ties to even.
  __device__ static unsigned pack(float first, float second) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
  }
  __device__ static float getFirst(unsigned pair) { return __int_as_float(pair << 16); }
  __device__ static float getSecond(unsigned pair) { return __int_as_float(pair & 0xffff0000u); }
};

#endif
