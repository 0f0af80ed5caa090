//===- mma_f16.cuh - float16 on tensor cores --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__

template <>
struct TensorCore<__half> {
  /// Accumulates a matmul: sum += left · right.
  __device__ static void multiply(float &sum0, float &sum1, float &sum2, float &sum3, const unsigned (&left)[4],
                                  unsigned right0, unsigned right1) {
    MULTIPLY_16_BITS("f16");
  }
  /// Returns `pair` unchanged: the elements already have the type of the tensor cores.
  __device__ static unsigned round(unsigned pair) { return pair; }
  /// Packs two consecutive elements, each rounded to the nearest float16, ties to even.
  __device__ static unsigned pack(float first, float second) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
  }
  __device__ static float getFirst(unsigned pair) { return widen(static_cast<unsigned short>(pair)); }
  __device__ static float getSecond(unsigned pair) { return widen(static_cast<unsigned short>(pair >> 16)); }

private:
  __device__ static float widen(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;\n" : "=f"(value) : "h"(bits));
    return value;
  }
};

#endif
