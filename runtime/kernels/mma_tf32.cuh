//===- mma_tf32.cuh - float32 on tensor cores, as tf32 ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__

template <>
struct TensorCore<float> {
  __device__ static void multiply(float &sum0, float &sum1, float &sum2, float &sum3, const unsigned (&left)[4],
                                  unsigned right0, unsigned right1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
  }
  /// Rounds to the nearest tf32, ties away from zero. The tensor cores ignore the last 13 bits.
  __device__ static unsigned round(unsigned bits) { return bits + 0x1000; }
};

#endif
